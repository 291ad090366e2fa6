import ControlAPI
import Glibc
import Keychain
import LinuxSystem
import Synchronization
import Testing

@testable import ControlDaemon

/// Generations, lost configurations, and files that somebody else changed while no tunneld ran.
@Suite struct HistoryTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `every generation is kept with its time and what it changed`() async throws {
        var configuration = try await bench.save()
        configuration.name = "work"
        configuration.username = "eva"
        configuration = try await bench.replace(configuration)
        let generations = await bench.store.generations(of: configuration.identifier)
        #expect(generations.map(\.generation) == [1, 2] && generations.map(\.isPresent) == [false, true])
        #expect(generations.map(\.name) == ["home", "work"])
        #expect(generations.map(\.changes) == [nil, ["name", "username"]])
        #expect(generations.allSatisfy { $0.fault == nil && $0.time.milliseconds > 1_700_000_000_000 })
    }

    @Test func `a file that was set aside before the last generation isn't why the configuration is lost`() throws {
        let folder = bench.temporary.path + "/aside"
        try makeFolder(folder, mode: 0o700)
        for name in ["id.100.json", "id-7.900.json", "other.900.json"] {
            try AtomicFile.write([], to: "\(folder)/\(name)", mode: 0o600)
        }
        let damaged = DamagedFiles(folder: folder)
        #expect(
            damaged.reason("id", since: 100) == "Its file can't be used and was set aside as \(folder)/id.100.json."
        )
        #expect(damaged.reason("id", since: 101) == "Its file was removed by somebody else, or can't be read.")
    }

    @Test func `an earlier generation comes back as a new one, with the secret that it had`() async throws {
        let first = try await bench.save()
        var second = first
        second.provider?.configuration = ["keyReference": "new:key"]
        second = try await bench.replace(second, secrets: ["new:key": "sheep"])
        let restored = try await restore(1, of: first.identifier, loaded: 2)
        var wanted = first
        wanted.generation = 3
        #expect(restored == wanted)
        let reference = try #require(StoreContents.references(in: restored).first)
        #expect(try bench.keychain.claimedHeader(of: reference).owner == 0)
        await expect(throws: Named(.configurationStale)) { try await restore(1, of: first.identifier, loaded: 2) }
        await expect(throws: Named(.notFound)) { try await restore(9, of: first.identifier) }
        await expect(throws: Named(.configurationUnknown)) { try await restore(1, of: "none") }
    }

    @Test func `an earlier generation whose name is taken by now can't come back`() async throws {
        var first = try await bench.save("home")
        first.name = "old"
        first = try await bench.replace(first)
        _ = try await bench.save("home")
        await expect(throws: Named(.nameTaken)) { try await restore(1, of: first.identifier) }
    }

    @Test(arguments: ["{", "", #"{"version": 1}"#, String(repeating: "x", count: 2 << 20)])
    func `a configuration whose file is damaged is lost, and its last good generation comes back`(
        text: String
    ) async throws {
        let good = try await bench.save()
        let other = try await bench.save("other")
        try AtomicFile.write(Array(text.utf8), to: file(good), mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations == [other.identifier: other] && contents.orphans.isEmpty)
        #expect(contents.lost[good.identifier]?.last == good)
        #expect(contents.lost[good.identifier]?.reason.hasPrefix("Its file can't be used and was set aside as") == true)
        #expect(
            contents.incidents.contains {
                $0.contains("configuration home is lost") && $0.contains("tunnelctl restore \(good.identifier) 1")
            }
        )
        let aside = try FileSystem.names(inFolder: bench.directories.damaged)
        #expect(aside.count == 1 && aside[0].hasPrefix(good.identifier))
        // It stays so over starts, until it is restored.
        let again = try StoreContents.load(bench.directories, bench.keychain)
        #expect(again.lost[good.identifier]?.last == good)
        let store = ConfigurationStore(bench.directories, keychain: bench.keychain, contents: again)
        #expect(await store.lostConfigurations().map(\.last) == [good])
        let draft = try await store.draft(restoring: 1, of: good.identifier, loaded: nil)
        var wanted = good
        wanted.generation = 2
        #expect(try await store.save(draft) == wanted)
        #expect(await store.lostConfigurations().isEmpty)
        #expect(try StoreContents.load(bench.directories, bench.keychain).configurations[good.identifier] == wanted)
        #expect(try FileSystem.names(inFolder: bench.directories.damaged) == aside)
    }

    @Test func `files of others are set aside, each under a name of its own, and none is erased`() async throws {
        let good = try await bench.save()
        let folder = bench.directories.configurations
        for name in ["notes.txt", "home.json", "ABCDEF00-0000-4000-8000-000000000000.json"] {
            try AtomicFile.write(Array(name.utf8), to: "\(folder)/\(name)", mode: 0o600)
        }
        try makeFolder("\(folder)/folder.json", mode: 0o700)
        try AtomicFile.write([], to: "\(folder)/.swap", mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations == [good.identifier: good] && contents.incidents.count == 4)
        #expect(try FileSystem.names(inFolder: folder).sorted() == [".swap", "\(good.identifier).json"])
        #expect(try FileSystem.names(inFolder: bench.directories.damaged).count == 4)
        try AtomicFile.write([], to: "\(folder)/home.json", mode: 0o600)
        _ = try StoreContents.load(bench.directories, bench.keychain)
        #expect(try FileSystem.names(inFolder: bench.directories.damaged).count == 5)
    }

    @Test func `what others than root may write isn't in force, and a person may bring it back`() async throws {
        let good = try await bench.save()
        let copy = "\(bench.directories.history)/\(good.identifier)/1.json"
        // As `chmod -R` or an unpacked backup leaves them.
        for path in [file(good), copy] { _ = unsafe chmod(path, 0o660) }
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations.isEmpty && contents.lost[good.identifier]?.last == good)
        let store = ConfigurationStore(bench.directories, keychain: bench.keychain, contents: contents)
        #expect(await store.generations(of: good.identifier).allSatisfy { $0.fault == nil })
        let draft = try await store.draft(restoring: 1, of: good.identifier, loaded: nil)
        #expect(try await store.save(draft).generation == 2)
        let again = try StoreContents.load(bench.directories, bench.keychain)
        #expect(again.configurations[good.identifier]?.generation == 2)
    }

    @Test(arguments: [true, false])
    func `one that is lost while tunneld runs takes its secret along when it is removed`(
        isRestored: Bool
    ) async throws {
        let saved = try await bench.save()
        let references = StoreContents.references(in: saved)
        _ = unsafe unlink(file(saved))
        await bench.store.lose(saved.identifier, "x")
        // Another removal must not take it.
        try await bench.store.remove(try await bench.save("other").identifier, generation: 1)
        #expect(try bench.keychain.references() == references)
        if isRestored { try await restore(1, of: saved.identifier) }
        try await bench.store.remove(saved.identifier, generation: nil)
        #expect(try bench.keychain.references().isEmpty)
    }

    @Test(arguments: [true, false])
    func `a lost configuration can be removed for good, and a file of it is set aside`(hasFile: Bool) async throws {
        let good = try await bench.save()
        let other = try await bench.save("other")
        _ = unsafe unlink(file(good))
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        let store = ConfigurationStore(bench.directories, keychain: bench.keychain, contents: contents)
        if hasFile { try AtomicFile.write([7], to: file(good), mode: 0o600) }
        await expect(throws: Named(.configurationStale)) { try await store.remove(good.identifier, generation: 9) }
        try await store.remove(good.identifier, generation: 1)
        #expect(await store.lostConfigurations().isEmpty)
        #expect(try bench.keychain.references() == StoreContents.references(in: other))
        #expect(try FileSystem.names(inFolder: bench.directories.damaged).count == (hasFile ? 1 : 0))
        let again = try StoreContents.load(bench.directories, bench.keychain)
        #expect(again.lost.isEmpty && again.incidents.isEmpty && again.configurations.count == 1)
    }

    @Test func `a damaged earlier generation is told and refused, and the others can be had`() async throws {
        var configuration = try await bench.save()
        configuration.username = "eva"
        configuration = try await bench.replace(configuration)
        let path = "\(bench.directories.history)/\(configuration.identifier)/1.json"
        try AtomicFile.write(Array("{".utf8), to: path, mode: 0o600)
        let generations = await bench.store.generations(of: configuration.identifier)
        #expect(generations[0].fault != nil && generations[1].fault == nil)
        await expect(throws: Named(.configurationReadWriteFailed)) {
            try await restore(1, of: configuration.identifier)
        }
    }

    @Test(arguments: [true, false])
    func `a damaged copy of the present generation is set aside, and the file itself stays in force`(
        hasOlder: Bool
    ) async throws {
        var configuration = try await bench.save()
        if hasOlder {
            configuration.username = "eva"
            configuration = try await bench.replace(configuration)
        }
        let copy = "\(bench.directories.history)/\(configuration.identifier)/\(configuration.generation).json"
        try AtomicFile.write(Array("{".utf8), to: copy, mode: 0o600)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.configurations == [configuration.identifier: configuration])
        #expect(contents.edited.isEmpty && contents.lost.isEmpty && contents.orphans.isEmpty)
        let aside = try #require(try FileSystem.names(inFolder: bench.directories.damaged).first)
        #expect(try FileSystem.contents(ofFile: "\(bench.directories.damaged)/\(aside)", limit: 9) == Array("{".utf8))
        #expect(aside.hasPrefix("\(configuration.identifier)-\(configuration.generation)."))
        #expect(contents.incidents.count == 1 && contents.incidents[0].contains(aside))
        // It is whole again for the next start.
        #expect(try StoreContents.load(bench.directories, bench.keychain).incidents.isEmpty)
        #expect(await bench.store.generations(of: configuration.identifier).allSatisfy { $0.fault == nil })
    }

    // MARK: Changed while no tunneld ran

    @Test func `a file that nothing earlier vouches for is judged before it is taken`() async throws {
        let saved = try await bench.save()
        try FolderRemoval.remove("\(bench.directories.history)/\(saved.identifier)")
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.edited == [saved.identifier] && contents.configurations.isEmpty && contents.lost.isEmpty)
    }

    @Test func `a file that was changed meanwhile is noticed, and one that only looks so is not`() async throws {
        let changed = try await bench.save("changed")
        let touched = try await bench.save("touched")
        let removed = try await bench.save("removed")
        var edit = changed
        edit.username = "eva"
        try AtomicFile.write(ConfigurationFile.encode(edit), to: file(changed), mode: 0o600)
        try AtomicFile.write(ConfigurationFile.encode(touched), to: file(touched), mode: 0o600)
        _ = unsafe unlink(file(removed))
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.edited == [changed.identifier])
        #expect(contents.configurations == [changed.identifier: changed, touched.identifier: touched])
        #expect(contents.lost[removed.identifier]?.last == removed)
        #expect(contents.lost[removed.identifier]?.reason == "Its file was removed by somebody else, or can't be read.")
    }

    // MARK: Exclusive

    @Test func `saving an enabled exclusive one switches off the others of the same owner, with an event`() async throws
    {
        let plain = try await save(named: "plain")
        let first = try await save(named: "first", exclusive: true)
        let others = try await save(named: "others", user: 1000, exclusive: true)
        let changes = Mutex<[String]>([])
        await bench.store.onChange { change in
            changes.withLock { $0.append("\(change.current?.name ?? "") \(change.current?.enabled ?? false)") }
        }
        let second = try await save(named: "second", exclusive: true)
        #expect(changes.withLock { $0 } == ["second true", "first false"])
        let state = await bench.store.configurations().map { "\($0.name) \($0.enabled) \($0.generation)" }
        #expect(state == ["first false 2", "others true 1", "plain true 1", "second true 1"])
        // Enabling the first again switches off the second.
        var again = try #require(await bench.store.configuration(first.identifier))
        again.enabled = true
        _ = try await bench.replace(again)
        #expect(await bench.store.configuration(second.identifier)?.enabled == false)
        #expect(await bench.store.configuration(plain.identifier) == plain)
        #expect(await bench.store.configuration(others.identifier) == others)
    }

    @Test func `one whose secret is gone can be switched off, by hand and by another exclusive one`() async throws {
        var first = try await bench.save("first")
        first.exclusive = true
        first = try await bench.replace(first)
        try bench.keychain.remove(StoreContents.references(in: first))
        _ = try await save(named: "second", exclusive: true)
        first = try #require(await bench.store.configuration(first.identifier))
        #expect(!first.enabled)
        #expect(bench.incidents.all.isEmpty)
        first.username = "eva"
        first = try await bench.replace(first)
        first.enabled = true
        await expect(throws: Named(.secretUnavailable)) { [first] in try await bench.replace(first) }
    }

    @Test func `one that takes all networks is exclusive`() async throws {
        var all = Configuration(name: "all", owner: .init(user: 0), provider: provider)
        all.includeAllNetworks = true
        let saved = try await bench.store.save(.init(configuration: all, generation: 0, places: SecretPlaces(keys: [])))
        #expect(saved.exclusive)
    }

    private let provider = Configuration.Provider(identifier: "org.tunneld.fake", configuration: [:])

    private func save(named name: String, user: UInt32 = 0, exclusive: Bool = false) async throws -> Configuration {
        var configuration = Configuration(name: name, owner: .init(user: user), provider: provider)
        configuration.exclusive = exclusive
        return try await bench.store.save(
            .init(configuration: configuration, generation: 0, places: SecretPlaces(keys: []))
        )
    }

    private func file(_ configuration: Configuration) -> String {
        "\(bench.directories.configurations)/\(configuration.identifier).json"
    }

    @discardableResult
    private func restore(_ generation: Int, of identifier: String, loaded: Int? = nil) async throws -> Configuration {
        let draft = try await bench.store.draft(restoring: generation, of: identifier, loaded: loaded)
        return try await bench.store.save(draft)
    }
}
