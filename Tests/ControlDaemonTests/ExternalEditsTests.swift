import ControlAPI
import Glibc
import Keychain
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

@Suite(.timeLimit(.minutes(2))) struct ExternalEditsTests {
    private let bench: Bench
    private let tunnels: Tunnels
    private let incidents = Incidents()
    private let store: ConfigurationStore
    private let changes: Changes

    /// What was told of, in order: "home 2", or "home -" for a removal.
    private final class Changes: Sendable {
        let told = Mutex<[String]>([])
    }

    init() async throws {
        let bench = try Bench()
        self.bench = bench
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        store = ConfigurationStore(
            bench.directories,
            keychain: bench.keychain,
            contents: contents,
            incidents: incidents
        )
        tunnels = Tunnels(bench.services())
        let changes = Changes()
        self.changes = changes
        await store.onChange { change in
            let name = (change.current ?? change.previous)?.name ?? ""
            changes.told.withLock { $0.append("\(name) \(change.current.map { "\($0.generation)" } ?? "-")") }
        }
    }

    private func edits() -> ExternalEdits {
        ExternalEdits(
            store: store,
            catalogue: bench.catalogue,
            tunnels: tunnels,
            directories: bench.directories,
            log: bench.services().log
        )
    }

    @Test(arguments: [true, false])
    func `a file that somebody edits becomes a new generation, with an event`(isAtomic: Bool) async throws {
        let saved = try await save()
        let edits = edits()
        await edits.start(changed: [])
        var edit = saved
        edit.username = "eva"
        try write(edit, isAtomic: isAtomic)
        #expect(await eventually { await store.configuration(saved.identifier)?.username == "eva" })
        #expect(await store.configuration(saved.identifier)?.generation == 2)
        #expect(changes.told.withLock { $0 } == ["home 1", "home 2"])
        // The file says which generation it is, and what was before can be restored.
        #expect(try ConfigurationFile.read(file(saved), identifier: saved.identifier).generation == 2)
        #expect(await store.generations(of: saved.identifier).map(\.generation) == [1, 2])
        await edits.stop()
    }

    @Test func `a file that is written again without a change is no news`() async throws {
        let saved = try await save()
        let edits = edits()
        await edits.start(changed: [])
        var same = saved
        same.generation = 77
        try write(same)
        #expect(
            await eventually {
                (try? ConfigurationFile.read(file(saved), identifier: saved.identifier).generation) == 1
            }
        )
        #expect(await store.configuration(saved.identifier) == saved)
        #expect(changes.told.withLock { $0 } == ["home 1"])
        await edits.stop()
    }

    @Test(
        arguments: [
            ("{", "it is no such JSON document"), (#"{"name":"home","type":"pptp"}"#, "type"),
            (
                #"{"name":"home","type":"provider","provider":{"identifier":"org.tunneld.fake","configuration":{"keyReference":"c2VjcmV0"}}}"#,
                "provider.configuration.keyReference is wrong"
            ),
            (
                #"{"name":"home","type":"provider","provider":{"identifier":"org.tunneld.fake","configuration":{"strange":1}}}"#,
                "provider.configuration.strange is wrong"
            ),
        ]
    )
    func `an edit that can't be used is set aside and told, and the last good generation stays in force`(
        text: String,
        reason: String
    ) async throws {
        let saved = try await save()
        let edits = edits()
        await edits.start(changed: [])
        try AtomicFile.write(Array(text.utf8), to: file(saved), mode: 0o600)
        #expect(await eventually { !incidents.all.isEmpty })
        #expect(incidents.all.count == 1 && incidents.all[0].contains(reason), "\(incidents.all)")
        #expect(!incidents.all[0].contains("c2VjcmV0"))
        #expect(incidents.all[0].contains("Generation 1 of home stays in force."))
        #expect(await store.configuration(saved.identifier) == saved)
        #expect(try FileSystem.names(inFolder: bench.directories.damaged).count == 1)
        #expect(try ConfigurationFile.read(file(saved), identifier: saved.identifier) == saved)
        await edits.stop()
    }

    @Test func `a file that is added is a new configuration, and one under a wrong name is set aside`() async throws {
        let edits = edits()
        await edits.start(changed: [])
        let identifier = "11111111-2222-4333-8444-555555555555"
        let text =
            #"{"name":"added","type":"provider","enabled":true,"provider":{"identifier":"org.tunneld.fake","configuration":{}}}"#
        let folder = bench.directories.configurations
        try AtomicFile.write(Array(text.utf8), to: "\(folder)/\(identifier).json", mode: 0o644)
        try AtomicFile.write(Array(text.utf8), to: "\(folder)/added.json", mode: 0o644)
        #expect(await eventually { await store.configuration(identifier)?.generation == 1 })
        #expect(await store.configuration(identifier)?.name == "added")
        #expect(await eventually { incidents.all.contains { $0.contains("added.json") } })
        #expect(changes.told.withLock { $0 } == ["added 1"])
        await edits.stop()
    }

    @Test func `a file that is removed takes its configuration along, its tunnel is stopped, and it can be restored`()
        async throws
    {
        let saved = try await save()
        let tunnel = await tunnels.tunnel(of: saved)
        let edits = edits()
        await edits.start(changed: [])
        _ = unsafe unlink(file(saved))
        #expect(await eventually { await store.configuration(saved.identifier) == nil })
        #expect(await eventually { await tunnels.existing(saved.identifier) == nil })
        await expect(throws: Named(.configurationUnknown)) { try await tunnel.start(saved) }
        #expect(changes.told.withLock { $0 } == ["home 1", "home -"])
        let draft = try await store.draft(restoring: 1, of: saved.identifier, loaded: nil)
        #expect(try await store.save(draft).generation == 2)
        await edits.stop()
    }

    @Test func `what was changed while no tunneld ran is taken over at the start`() async throws {
        let saved = try await save()
        var edit = saved
        edit.username = "eva"
        try write(edit)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.edited == [saved.identifier])
        let edits = edits()
        await edits.start(changed: contents.edited)
        #expect(await store.configuration(saved.identifier)?.generation == 2)
        await edits.stop()
    }

    @Test func `a file that came while no tunneld ran, and that nothing vouches for, is judged like any other`()
        async throws
    {
        let good = "11111111-2222-4333-8444-555555555555"
        let bad = "11111111-2222-4333-8444-666666666666"
        let folder = bench.directories.configurations
        for (identifier, content) in [(good, "{}"), (bad, #"{"keyReference":"c2VjcmV0"}"#)] {
            let text =
                #"{"name":"\#(identifier.suffix(1))","type":"provider","generation":5,"provider":{"identifier":"org.tunneld.fake","configuration":\#(content)}}"#
            try AtomicFile.write(Array(text.utf8), to: "\(folder)/\(identifier).json", mode: 0o600)
        }
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        #expect(contents.edited == [good, bad] && contents.configurations.isEmpty)
        let edits = edits()
        await edits.start(changed: contents.edited)
        #expect(await store.configurations().map(\.identifier) == [good])
        let incident = try #require(incidents.all.first)
        #expect(incident.contains("provider.configuration.keyReference is wrong") && incidents.all.count == 1)
        #expect(!incident.contains("c2VjcmV0"))
        #expect(try FileSystem.names(inFolder: bench.directories.damaged).count == 1)
        await edits.stop()
    }

    @Test(arguments: [true, false])
    func `an item that can't be read costs a file nothing, and one that is gone does`(isThere: Bool) async throws {
        let saved = try await save()
        let other = try await bench.save("other")
        let reference = try #require(StoreContents.references(in: other).first)
        let item = "\(bench.directories.keychain)/\(reference.description.suffix(32))"
        if isThere { _ = unsafe truncate(item, 40) } else { _ = unsafe unlink(item) }
        var edit = saved
        edit.provider?.configuration = ["keyReference": .string("\(reference)")]
        try write(edit)
        let edits = edits()
        await edits.start(changed: [saved.identifier])
        #expect(await store.configuration(saved.identifier)?.generation == (isThere ? 2 : 1))
        #expect(incidents.all.count == (isThere ? 0 : 1))
        await edits.stop()
    }

    @Test func `a client's save doesn't overwrite a file that nobody has looked at yet`() async throws {
        var saved = try await save()
        var edit = saved
        edit.username = "eva"
        try write(edit)
        saved.username = "ada"
        saved = try await store.save(.init(configuration: saved, generation: 1, places: SecretPlaces(keys: [])))
        let aside = try #require(try FileSystem.names(inFolder: bench.directories.damaged).first)
        let kept = "\(bench.directories.damaged)/\(aside)"
        #expect(try ConfigurationFile.read(kept, identifier: saved.identifier).username == "eva")
        #expect(incidents.all.count == 1)
    }

    @Test func `tunnels are started at boot once after each start of the machine`() throws {
        let path = bench.directories.boots[0]
        let mark = BootMark(paths: [path])
        #expect(mark.isFirstStart && BootMark.present().utf8.count > 37)
        try mark.set()
        #expect(!BootMark(paths: [path]).isFirstStart)
        try AtomicFile.write(Array("another 1\n".utf8), to: path, mode: 0o600)
        #expect(BootMark(paths: [path]).isFirstStart)
    }

    @Test func `a start of the machine is remembered elsewhere where the state directory takes nothing`() throws {
        let paths = ["\(bench.directories.state)/no such folder/boot", "\(bench.directories.runtime)/boot"]
        try BootMark(paths: paths).set()
        #expect(!BootMark(paths: paths).isFirstStart)
        #expect(throws: SystemError.self) { try BootMark(paths: [paths[0]]).set() }
    }

    // MARK: Pieces

    private func save() async throws -> Configuration {
        let provider = Configuration.Provider(identifier: "org.tunneld.fake", configuration: [:])
        let configuration = Configuration(name: "home", owner: .init(user: 0), provider: provider)
        return try await store.save(.init(configuration: configuration, generation: 0, places: SecretPlaces(keys: [])))
    }

    private func file(_ configuration: Configuration) -> String {
        "\(bench.directories.configurations)/\(configuration.identifier).json"
    }

    private func write(_ configuration: Configuration, isAtomic: Bool = true) throws {
        let bytes = try ConfigurationFile.encode(configuration)
        if isAtomic { return try AtomicFile.write(bytes, to: file(configuration), mode: 0o600) }
        let raw = unsafe open(file(configuration), O_WRONLY | O_TRUNC | O_CLOEXEC)
        let file = OwnedDescriptor(adopting: raw)
        try AtomicFile.writeAll(unsafe bytes.span.bytes, to: file.raw)
    }
}
