import ControlAPI
import Glibc
import Keychain
import LinuxSystem
import Synchronization
import Testing

@testable import ControlDaemon

@Suite struct ConfigurationStoreTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `a new configuration gets an identifier and generation 1, and a private file`() async throws {
        let saved = try await bench.save()
        #expect(saved.identifier.utf8.count == 36 && saved.generation == 1)
        #expect(await bench.store.configuration(saved.identifier) == saved)
        let path = "\(bench.directories.configurations)/\(saved.identifier).json"
        var status = stat()
        let found = unsafe stat(path, &status)
        #expect(found == 0 && status.st_mode & 0o7777 == 0o600)
        let text = String(decoding: try FileSystem.contents(ofFile: path, limit: 1 << 20), as: UTF8.self)
        #expect(!text.contains("wolf") && !text.contains("new:key") && text.contains("keychain:"))
    }

    @Test func `what was saved is there for the next tunneld`() async throws {
        let saved = try await bench.save()
        let again = try StoreContents.load(bench.directories, bench.keychain)
        #expect(again.configurations == [saved.identifier: saved])
        #expect(again.incidents.isEmpty && again.orphans.isEmpty)
    }

    @Test(arguments: [nil, 0, 1, 3])
    func `a save of anything but the stored generation is stale and changes nothing`(generation: Int?) async throws {
        var configuration = try await bench.save()
        configuration.enabled = false
        configuration = try await save(configuration, 1)
        #expect(configuration.generation == 2)
        var late = configuration
        late.name = "other"
        await expect(throws: Named(.configurationStale)) { try await save(late, generation) }
        #expect(await bench.store.configuration(configuration.identifier) == configuration)
    }

    @Test(arguments: [nil, 1])
    func `a new configuration is of generation 0 and no other`(generation: Int?) async throws {
        let configuration = Configuration(name: "a", owner: .init(user: 0), provider: provider)
        await expect(throws: Named(.configurationStale)) { try await save(configuration, generation) }
        #expect(await bench.store.configurations().isEmpty)
    }

    @Test func `a save that changes nothing makes no generation and no event`() async throws {
        let configuration = try await bench.save()
        let changes = Mutex(0)
        await bench.store.onChange { _ in changes.withLock { $0 += 1 } }
        #expect(try await save(configuration, 1) == configuration)
        #expect(changes.withLock { $0 } == 0)
    }

    @Test func `an identifier that isn't stored is unknown`() async throws {
        var configuration = try await bench.save()
        configuration.identifier = "00000000-0000-0000-0000-000000000000"
        await expect(throws: Named(.configurationUnknown)) { try await save(configuration, 1) }
        await expect(throws: Named(.configurationUnknown)) {
            try await bench.store.remove(configuration.identifier, generation: 1)
        }
    }

    @Test func `a name is taken once per owner`() async throws {
        let first = try await bench.save("home")
        await expect(throws: Named(.nameTaken)) { try await bench.save("home") }
        var second = try await bench.save("work")
        second.name = "home"
        await expect(throws: Named(.nameTaken)) { try await save(second, 1) }
        let others = Configuration(name: "home", owner: .init(user: 1000), provider: provider)
        #expect(try await save(others, 0).name == "home")
        #expect(await bench.store.configuration(first.identifier) == first)
    }

    @Test func `a removal carries a generation, and takes the secrets along`() async throws {
        let configuration = try await bench.save()
        await expect(throws: Named(.configurationStale)) {
            try await bench.store.remove(configuration.identifier, generation: 7)
        }
        try await bench.store.remove(configuration.identifier, generation: 1)
        #expect(await bench.store.configurations().isEmpty)
        #expect(try FileSystem.names(inFolder: bench.directories.configurations).isEmpty)
        #expect(try bench.keychain.references().isEmpty)
    }

    // MARK: Secrets

    @Test func `a secret that is replaced stays as long as its generation can be restored`() async throws {
        var configuration = try await bench.save()
        let old = StoreContents.references(in: configuration)
        configuration.provider?.configuration = ["keyReference": "new:key"]
        configuration = try await save(configuration, 1, secrets: ["new:key": "sheep"])
        let new = StoreContents.references(in: configuration)
        #expect(new.count == 1 && new.isDisjoint(with: old))
        await bench.store.pin(old, by: "session")
        for round in 2...HistoryFolder.limit + 1 {
            #expect(try bench.keychain.references() == old.union(new), "\(round)")
            configuration.username = "\(round)"
            configuration = try await save(configuration, configuration.generation)
        }
        // Generation 1 is forgotten by now, but a session may still need the secret.
        #expect(try FileSystem.names(inFolder: "\(bench.directories.history)/\(configuration.identifier)").count == 20)
        #expect(try bench.keychain.references() == old.union(new))
        await bench.store.unpin(by: "session")
        #expect(try bench.keychain.references() == new)
    }

    @Test func `an item that another configuration refers to stays`() async throws {
        let first = try await bench.save("home")
        var second = Configuration(name: "work", owner: .init(user: 0), provider: provider)
        second.provider = first.provider
        second = try await save(second, 0)
        try await bench.store.remove(first.identifier, generation: nil)
        #expect(try bench.keychain.references() == StoreContents.references(in: second))
    }

    @Test func `a configuration that can't be written leaves no secret behind`() async throws {
        let folder = bench.directories.configurations
        try FolderRemoval.remove(folder)
        await expect(throws: Named(.configurationReadWriteFailed)) { try await bench.save() }
        #expect(try bench.keychain.references().isEmpty)
        #expect(await bench.store.configurations().isEmpty)
    }

    @Test func `a secret that can't be kept leaves no configuration behind`() async throws {
        try FolderRemoval.remove(bench.directories.keychain)
        await expect(throws: Named(.configurationReadWriteFailed)) { try await bench.save() }
        #expect(try FileSystem.names(inFolder: bench.directories.configurations).isEmpty)
        #expect(try FileSystem.names(inFolder: bench.directories.pending).isEmpty)
    }

    @Test func `an identity that can't be opened is told by the save, and nothing is kept`() async throws {
        let label = "new:key"
        let draft = ConfigurationStore.Draft(
            configuration: Configuration(
                name: "home",
                owner: .init(user: 0),
                provider: .init(identifier: "org.tunneld.fake", configuration: ["keyReference": .string(label)])
            ),
            generation: 0,
            secrets: [.init(placeholder: label, kind: .identity)],
            bundle: try PendingSecrets(
                readingBundle: Bench.bundle([label: "no PKCS#12", KeychainCalls.passwordLabel(of: label): "wolf"])
            ),
            places: SecretPlaces(keys: Bench.secretKeys)
        )
        await expect(throws: Named(.configurationInvalid)) { try await bench.store.save(draft) }
        #expect(try bench.keychain.references().isEmpty)
        for folder in [bench.directories.configurations, bench.directories.pending] {
            #expect(try FileSystem.names(inFolder: folder).isEmpty)
        }
    }

    // MARK: What a store finds at its start

    @Test(arguments: [
        "{", "[]", "", #"{"version": 1}"#,
        #"{"name":"a","type":"provider","provider":{"identifier":"x","configuration":{"y":1,"y":2}}}"#,
    ])
    func `a damaged file is set aside and reported, and everything else goes on`(text: String) async throws {
        let good = try await bench.save()
        let name = "11111111-1111-1111-1111-111111111111"
        try AtomicFile.write(Array(text.utf8), to: "\(bench.directories.configurations)/\(name).json", mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(Array(contents.configurations.keys) == [good.identifier])
        #expect(contents.incidents.count == 1 && contents.incidents[0].contains("is damaged"))
        let aside = try FileSystem.names(inFolder: bench.directories.damaged)
        #expect(aside.count == 1 && aside[0].hasPrefix(name))
        #expect(try StoreContents.load(bench.directories, bench.keychain).incidents.isEmpty)
    }

    @Test(arguments: [
        (#""version" : 1"#, #""version" : 2"#, "its version is 2, and this tunneld reads 1"),
        (
            #""version" : 1"#, #""version" : 1, "killSwitch" : true"#,
            "killSwitch: This version of tunneld knows no such member."
        ),
        (
            #""type" : "provider""#, #""type" : "ikev2""#,
            "type: `ikev2` isn't supported."
        ),
    ])
    func `a file of another version is set aside as it is and told, and the last good generation can be had`(
        old: String,
        new: String,
        reason: String
    ) async throws {
        let saved = try await bench.save()
        let path = "\(bench.directories.configurations)/\(saved.identifier).json"
        let text = String(decoding: try FileSystem.contents(ofFile: path, limit: 1 << 20), as: UTF8.self)
        let newer = Array(text.replacing(old, with: new).utf8)
        try AtomicFile.write(newer, to: path, mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations.isEmpty)
        #expect(contents.incidents.contains { $0.contains("can't be used by this tunneld: \(reason)") })
        #expect(!contents.incidents.contains { $0.contains("..") })
        let aside = try #require(try FileSystem.names(inFolder: bench.directories.damaged).first)
        #expect(try FileSystem.contents(ofFile: "\(bench.directories.damaged)/\(aside)", limit: 1 << 20) == newer)
        #expect(unsafe access(path, F_OK) != 0)
        #expect(contents.lost[saved.identifier]?.last == saved)
        #expect(try bench.keychain.references() == StoreContents.references(in: saved))
    }

    @Test func `a stored name that wouldn't be taken today stays usable`() async throws {
        let saved = try await bench.save("ho\u{200B}me")
        #expect(try StoreContents.load(bench.directories, bench.keychain).configurations == [saved.identifier: saved])
    }

    @Test func `a file under another's name, or that others may write, is not trusted`() async throws {
        let saved = try await bench.save()
        let folder = bench.directories.configurations
        let bytes = try FileSystem.contents(ofFile: "\(folder)/\(saved.identifier).json", limit: 1 << 20)
        try AtomicFile.write(bytes, to: "\(folder)/11111111-1111-1111-1111-111111111111.json", mode: 0o600)
        _ = unsafe chmod("\(folder)/\(saved.identifier).json", 0o666)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations.isEmpty)
        #expect(contents.incidents.count { $0.contains("is damaged") } == 2)
        // Its secrets stay: it can be restored.
        #expect(contents.lost[saved.identifier]?.last == saved && contents.orphans.isEmpty)
        #expect(try bench.keychain.references() == StoreContents.references(in: saved))
    }

    @Test func `what is in the way among a crash's leftovers is told and holds up nothing`() async throws {
        let saved = try await bench.save()
        let pending = bench.directories.pending
        try makeFolder("\(pending)/x.items", mode: 0o700)
        _ = unsafe mkfifo("\(pending)/y.items", 0o600)
        _ = unsafe mkfifo("\(pending)/\(saved.identifier).json", 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations == [saved.identifier: saved])
        #expect(contents.incidents.count == 2 && contents.incidents.allSatisfy { $0.contains("can't be finished") })
    }

    @Test func `what a crash left of a write is removed`() async throws {
        let folder = bench.directories.configurations
        try AtomicFile.write(Array("{".utf8), to: "\(folder)/x.json\(AtomicFile.temporarySuffix)", mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.incidents.isEmpty)
        #expect(try FileSystem.names(inFolder: folder).isEmpty)
    }

    private let provider = Configuration.Provider(identifier: "org.tunneld.fake", configuration: [:])

    private func save(
        _ configuration: Configuration,
        _ generation: Int?,
        secrets: [String: String] = [:]
    ) async throws -> Configuration {
        let described = secrets.keys.sorted().map {
            ConfigurationsCalls.SecretDescription(placeholder: $0, kind: .privateKey)
        }
        return try await bench.store.save(
            ConfigurationStore.Draft(
                configuration: configuration,
                generation: generation,
                secrets: described,
                bundle: secrets.isEmpty ? PendingSecrets() : PendingSecrets(readingBundle: Bench.bundle(secrets)),
                places: SecretPlaces(keys: Bench.secretKeys)
            )
        )
    }
}
