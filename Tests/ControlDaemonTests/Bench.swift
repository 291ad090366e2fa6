import ControlAPI
import Glibc
import HostNetwork
import Journal
import Keychain
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// Everything around a tunnel, in a folder of its own: a real store, keychain and launcher, a fake provider's program,
/// and a network that is only recorded.
final class Bench: Sendable {
    let temporary = TemporaryFolder()
    let directories: DaemonDirectories
    let network: FakeNetwork
    let block = FakeBlock()
    let hub = EventHub()
    let incidents = Incidents()
    let logged = RecordingSink()
    let log: Logger
    let keychain: Keychain
    let store: ConfigurationStore
    let catalogue: ProviderCatalogue
    let launcher: SpawnLauncher

    static let secretKeys = ["keyReference"]

    /// Collects the providers that nobody did: one that was left would be taken for the child of a later test.
    deinit {
        for name in (try? FileSystem.names(inFolder: "/proc")) ?? [] {
            guard let pid = Int32(name), let bytes = try? FileSystem.contents(ofFile: "/proc/\(pid)/stat", limit: 4096)
            else { continue }
            let stat = String(decoding: bytes, as: UTF8.self)
            guard stat.contains("(tunnel-provider"), let end = stat.lastIndex(of: ")") else { continue }
            let fields = stat[end...].dropFirst().split(separator: " ")
            if fields.prefix(2) == ["Z", "\(getpid())"] { _ = waitpid(pid, nil, WNOHANG) }
        }
    }

    init() throws {
        let path = temporary.path
        network = try FakeNetwork()
        log = Logger(LogOutput(logged))
        directories = DaemonDirectories(state: path + "/s", runtime: path + "/r", configuration: path + "/c")
        for folder in [directories.state, directories.runtime, directories.journal, path + "/programs"] {
            try makeFolder(folder, mode: 0o755)
        }
        let program = path + "/programs/tunnel-provider-fake"
        let fixture = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        try AtomicFile.write(
            FileSystem.contents(ofFile: fixture + "/Fixtures/tunnel-provider-fake", limit: 1 << 20),
            to: program,
            mode: 0o755
        )
        _ = unsafe chmod(program, 0o755)
        keychain = try Keychain(
            folder: directories.keychain,
            keys: HostKeys.load(credentials: nil, state: directories.state)
        )
        let contents = try StoreContents.load(directories, keychain)
        store = ConfigurationStore(directories, keychain: keychain, contents: contents, incidents: incidents)
        catalogue = ProviderCatalogue(folders: [], programs: path + "/programs")
        launcher = try SpawnLauncher(folder: directories.providers)
    }

    var journal: SessionJournal { SessionJournal(folder: directories.journal) }

    /// What a tunneld has that starts now.
    /// - Parameter store: another one than the bench's, as after a start.
    func services(
        epoch: UInt64 = 1,
        startTimeout: Interval = .seconds(30),
        store: ConfigurationStore? = nil
    ) -> TunnelServices {
        TunnelServices(
            launcher: launcher,
            network: network,
            block: block,
            keychain: keychain,
            store: store ?? self.store,
            catalogue: catalogue,
            journal: journal,
            timestamps: TimestampStore(folder: directories.timestamps),
            lastErrors: LastErrorStore(folder: directories.lastErrors),
            hub: hub,
            epoch: epoch,
            startTimeout: startTimeout,
            wgFolder: temporary.path + "/wg",
            log: log
        )
    }

    /// Saves a configuration of the fake provider with one secret, "wolf".
    func save(
        _ name: String = "home",
        behave: [String] = [],
        more: [String: JSONValue] = [:]
    ) async throws -> Configuration {
        var content = more
        content["behave"] = .array(behave.map { .string($0) })
        content["keyReference"] = "new:key"
        let provider = Configuration.Provider(identifier: "org.tunneld.fake", configuration: .object(content))
        return try await store.save(
            ConfigurationStore.Draft(
                configuration: Configuration(name: name, owner: Configuration.Owner(user: 0), provider: provider),
                generation: 0,
                secrets: [ConfigurationsCalls.SecretDescription(placeholder: "new:key", kind: .privateKey)],
                bundle: PendingSecrets(readingBundle: Self.bundle(["new:key": "wolf"])),
                places: SecretPlaces(keys: Self.secretKeys)
            )
        )
    }

    /// Saves a change of a stored configuration.
    func replace(_ configuration: Configuration, secrets: [String: String] = [:]) async throws -> Configuration {
        try await store.save(
            ConfigurationStore.Draft(
                configuration: configuration,
                generation: configuration.generation,
                secrets: secrets.keys.map { .init(placeholder: $0, kind: .privateKey) },
                bundle: secrets.isEmpty ? PendingSecrets() : PendingSecrets(readingBundle: Self.bundle(secrets)),
                places: SecretPlaces(keys: Self.secretKeys)
            )
        )
    }

    static func bundle(_ secrets: [String: String]) throws -> SharedDescriptor {
        let size = SecretBundle.byteCount(secrets.map { ($0.key, $0.value.utf8.count) })
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: "test", count: size) { buffer in
                var writer = unsafe SecretBundle.Writer(into: buffer)
                for (label, secret) in secrets {
                    let bytes = Array(secret.utf8)
                    _ = unsafe bytes.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
                }
            }
        )
    }

    /// Everything that a session leaves on the machine while it runs.
    var leftovers: [String] {
        let folders = [directories.journal, directories.providers, temporary.path + "/wg"]
        return folders.flatMap { folder in ((try? FileSystem.names(inFolder: folder)) ?? []).map { "\(folder)/\($0)" } }
            + network.devices.keys
    }

    /// The processes whose working directory is a provider's folder of this bench.
    var providerProcesses: [Int32] {
        ((try? FileSystem.names(inFolder: "/proc")) ?? []).compactMap { Int32($0) }.filter { pid in
            var buffer = [CChar](repeating: 0, count: 512)
            let count = unsafe readlink("/proc/\(pid)/cwd", &buffer, buffer.count)
            guard count > 0 else { return false }
            let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return path.hasPrefix(directories.providers)
        }
    }
}

/// The events of a bench, one after the other.
struct Witness {
    private let hub: EventHub
    private let subscription: EventSubscription

    init(_ hub: EventHub) {
        self.hub = hub
        subscription = hub.subscribe { _, _ in true }
    }

    /// The statuses that are told until one of them is `last`, without repetitions.
    func statuses(until last: TunnelStatus) async throws -> [TunnelStatus] {
        var statuses: [TunnelStatus] = []
        _ = try await event { event in
            guard let status = event.status else { return false }
            if statuses.last != status { statuses.append(status) }
            return status == last
        }
        return statuses
    }

    /// The first event that fits; fails after a minute.
    func event(
        where fits: @escaping (SessionsCalls.Event) -> Bool
    ) async throws -> SessionsCalls.Event {
        let hub = hub
        let subscription = subscription
        let limit = Task {
            try await Task.sleep(for: .milliseconds(Int64(patienceMilliseconds)))
            hub.unsubscribe(subscription)
        }
        defer { limit.cancel() }
        while case .event(let shared)? = await subscription.next() { if fits(shared.event) { return shared.event } }
        throw Timeout()
    }

    struct Timeout: Error {}
}

/// Keeps what is logged, and shows it to nobody.
final class RecordingSink: LogSink {
    private let entries = Mutex<[LogEntry]>([])

    var messages: [String] { entries.withLock { $0.map(\.message) } }

    func write(_ entry: LogEntry) -> Bool {
        entries.withLock { $0.append(entry) }
        return true
    }
}
