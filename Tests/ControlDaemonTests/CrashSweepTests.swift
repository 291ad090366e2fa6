import ControlAPI
import Glibc
import Keychain
import LinuxSystem
import Synchronization
import Testing

@testable import ControlDaemon

/// Ends the world at every named step of every change, and looks at what the next tunneld finds.
///
/// A copy of the state directory taken at a step is what a kill at that step leaves, for nothing of ours runs after it. A
/// power cut may lose besides what wasn't synced: there the copy's unsynced file is cut short.
@Suite struct CrashSweepTests {
    /// A directory as it was at a step.
    private struct Snapshot {
        let step: StoreStep
        let state: String
    }

    private final class World: Sendable {
        let temporary = TemporaryFolder()
        let directories: DaemonDirectories
        let keychain: Keychain
        let snapshots = Mutex<[Snapshot]>([])
        let isRecording = Mutex(false)

        init() throws {
            let path = temporary.path
            directories = DaemonDirectories(state: path + "/s", runtime: path + "/r", configuration: path + "/c")
            for folder in [directories.state, directories.runtime] { try makeFolder(folder, mode: 0o755) }
            keychain = try Self.keychain(directories)
        }

        static func keychain(_ directories: DaemonDirectories) throws -> Keychain {
            try Keychain(folder: directories.keychain, keys: HostKeys.load(credentials: nil, state: directories.state))
        }

        func store() throws -> ConfigurationStore {
            let contents = try StoreContents.load(directories, keychain)
            return ConfigurationStore(directories, keychain: keychain, contents: contents) { step in
                guard self.isRecording.withLock({ $0 }) else { return }
                self.snapshots.withLock { $0 = $0 + [self.snapshot(at: step, $0.count)] }
            }
        }

        private func snapshot(at step: StoreStep, _ number: Int) -> Snapshot {
            let copy = "\(temporary.path)/snapshot-\(number)"
            try? Self.copy(directories.state, to: copy)
            return Snapshot(step: step, state: copy)
        }

        func record(_ change: () async throws -> Void) async rethrows {
            isRecording.withLock { $0 = true }
            try await change()
            isRecording.withLock { $0 = false }
        }

        static func copy(_ folder: String, to new: String) throws {
            try makeFolder(new, mode: 0o700)
            for name in try FileSystem.names(inFolder: folder) {
                var status = stat()
                guard unsafe lstat("\(folder)/\(name)", &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    try copy("\(folder)/\(name)", to: "\(new)/\(name)")
                } else {
                    let bytes = try FileSystem.contents(ofFile: "\(folder)/\(name)", limit: 1 << 20)
                    try AtomicFile.write(bytes, to: "\(new)/\(name)", mode: 0o600)
                    try FileStamp(of: "\(folder)/\(name)").apply(to: "\(new)/\(name)")
                }
            }
        }
    }

    /// What a tunneld finds in a directory.
    private struct Found {
        let contents: StoreContents
        let items: Set<ItemReference>
        let history: [Int]

        init(_ state: String, _ identifier: String?) throws {
            let directories = DaemonDirectories(state: state, runtime: state + "-r", configuration: state + "-c")
            let keychain = try World.keychain(directories)
            contents = try StoreContents.load(directories, keychain)
            items = try keychain.references()
            let one = identifier ?? contents.configurations.keys.first
            #expect(contents.edited.isEmpty)
            history = one.map { HistoryFolder(path: directories.history).generations($0) } ?? []
            // The next start finds nothing left to mend.
            let again = try StoreContents.load(directories, keychain)
            #expect(again.configurations == contents.configurations && again.incidents == contents.incidents)
            #expect(try FileSystem.names(inFolder: directories.pending).isEmpty)
            #expect(try FileSystem.names(inFolder: directories.removed).isEmpty)
        }
    }

    @Test func `a first save leaves nothing or all of it, with its secret`() async throws {
        let world = try World()
        let store = try world.store()
        try await world.record { _ = try await save(store, configuration("home"), 0, secrets: ["new:key": "wolf"]) }
        let seen = try check(world) { found in
            guard let configuration = found.contents.configurations.values.first else {
                return found.items.isEmpty && found.history.isEmpty
            }
            return configuration.generation == 1 && found.items == StoreContents.references(in: configuration)
                && found.history == [1]
        }
        #expect(seen.isSuperset(of: Self.writes))
        #expect(seen.isSuperset(of: [.itemsNoted, .itemAdded, .itemsSettled, .generationKept] as Set<StoreStep>))
    }

    @Test func `a replacing save leaves the old one or the new one whole, and their secrets`() async throws {
        let world = try World()
        let store = try world.store()
        var old = try await save(store, configuration("home"), 0, secrets: ["new:key": "wolf"])
        for round in 1..<HistoryFolder.limit {
            old.username = "\(round)"
            old = try await save(store, old, old.generation)
        }
        let oldItems = StoreContents.references(in: old)
        var new = old
        new.provider?.configuration = ["keyReference": "new:key"]
        try await world.record { [new] in
            _ = try await save(store, new, new.generation, secrets: ["new:key": "sheep"])
        }
        let seen = try check(world) { found in
            guard let present = found.contents.configurations.values.first else { return false }
            if present == old { return found.items == oldItems && found.history.last == old.generation }
            guard present.generation == old.generation + 1, found.history.last == present.generation else {
                return false
            }
            return found.items == oldItems.union(StoreContents.references(in: present))
        }
        #expect(seen.isSuperset(of: Self.writes))
        #expect(seen.isSuperset(of: [.itemsNoted, .itemAdded, .generationKept, .generationDropped] as Set<StoreStep>))
    }

    @Test func `a removal leaves all of it or nothing`() async throws {
        let world = try World()
        let store = try world.store()
        let other = try await save(store, configuration("other"), 0, secrets: ["new:key": "sheep"])
        var old = try await save(store, configuration("home"), 0, secrets: ["new:key": "wolf"])
        let first = StoreContents.references(in: old)
        old.provider?.configuration = ["keyReference": "new:key"]
        old = try await save(store, old, 1, secrets: ["new:key": "fox"])
        let items = first.union(StoreContents.references(in: old))
        let others = StoreContents.references(in: other)
        let identifier = old.identifier
        try await world.record { try await store.remove(identifier, generation: 2) }
        let seen = try check(world, identifier) { found in
            guard found.contents.configurations[other.identifier] == other else { return false }
            guard let present = found.contents.configurations[identifier] else {
                return found.items == others && found.history.isEmpty && found.contents.lost.isEmpty
            }
            return present == old && found.items == items.union(others) && found.history == [1, 2]
        }
        #expect(seen.isSuperset(of: [.removalNoted, .fileRemoved, .itemRemoved, .historyRemoved] as Set<StoreStep>))
    }

    @Test func `of exclusive ones the one that was saved last is enabled in the end`() async throws {
        let world = try World()
        let store = try world.store()
        var one = configuration("one")
        one.exclusive = true
        one.provider?.configuration = [:]
        one = try await save(store, one, 0)
        var two = one
        two.identifier = ""
        two.name = "two"
        // Which came last is told by the files' times, which have the grain of the kernel's tick.
        usleep(20_000)
        try await world.record { [two] in _ = try await save(store, two, 0) }
        for snapshot in world.snapshots.withLock({ $0 }) {
            let directories = DaemonDirectories(
                state: snapshot.state,
                runtime: "/nonexistent",
                configuration: "/nonexistent"
            )
            let keychain = try World.keychain(directories)
            let contents = try StoreContents.load(directories, keychain)
            let next = ConfigurationStore(directories, keychain: keychain, contents: contents)
            await next.settleExclusives()
            let all = await next.configurations()
            let wanted = all.count == 1 ? ["one"] : ["two"]
            #expect(all.filter { $0.enabled }.map { $0.name } == wanted, "\(snapshot.step)")
        }
    }

    // MARK: Pieces

    private static let writes = Set<StoreStep>(
        AtomicFile.Step.allCases.flatMap { step in [StoreStep.pending(step), StoreStep.configuration(step)] }
    )

    /// Looks at every snapshot, and at what a power cut makes of it.
    ///
    /// - Returns: the steps that were looked at.
    private func check(
        _ world: World,
        _ identifier: String? = nil,
        _ isRight: (Found) throws -> Bool
    ) throws -> Set<StoreStep> {
        let snapshots = world.snapshots.withLock { $0 }
        for snapshot in snapshots {
            let unsynced = try FileSystem.names(inFolder: snapshot.state).flatMap { folder in
                ((try? FileSystem.names(inFolder: "\(snapshot.state)/\(folder)")) ?? []).map {
                    "\(snapshot.state)/\(folder)/\($0)"
                }
            }.filter { $0.hasSuffix(AtomicFile.temporarySuffix) }
            for length in [nil, 0, 7] where length == nil || !unsynced.isEmpty {
                if let length { for path in unsynced { _ = unsafe truncate(path, length) } }
                let copy = "\(snapshot.state)-\(length.map(String.init) ?? "whole")"
                try World.copy(snapshot.state, to: copy)
                #expect(try isRight(Found(copy, identifier)), "at \(snapshot.step), cut to \(length ?? -1)")
            }
        }
        return Set(snapshots.map(\.step))
    }

    private func configuration(_ name: String) -> Configuration {
        let provider = Configuration.Provider(
            identifier: "org.tunneld.fake",
            configuration: ["keyReference": "new:key"]
        )
        return Configuration(name: name, owner: .init(user: 0), provider: provider)
    }

    private func save(
        _ store: ConfigurationStore,
        _ configuration: Configuration,
        _ generation: Int,
        secrets: [String: String] = [:]
    ) async throws -> Configuration {
        try await store.save(
            ConfigurationStore.Draft(
                configuration: configuration,
                generation: generation,
                secrets: secrets.keys.map { .init(placeholder: $0, kind: .privateKey) },
                bundle: secrets.isEmpty ? PendingSecrets() : PendingSecrets(readingBundle: Bench.bundle(secrets)),
                places: SecretPlaces(keys: Bench.secretKeys)
            )
        )
    }
}
