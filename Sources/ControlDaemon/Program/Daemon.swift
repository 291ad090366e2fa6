import ControlAPI
import EventLoop
import Dispatch
import Glibc
import HostNetwork
package import Journal
import Keychain
import LinuxSystem
import NetworkTypes
import VarlinkCore
import SystemBus
import VarlinkSocket

/// tunneld, put together: everything between the directories and the control socket.
package final class Daemon: Sendable {
    private let server: VarlinkServer
    private let locks: [LockFile]
    private let monitor: NetworkMonitor?
    private let sleep: SleepWatch
    private let tunnels: Tunnels
    private let edits: ExternalEdits

    /// Takes the directories, goes on with what an earlier tunneld left, and serves.
    ///
    /// - Throws: `ControlError` with what stands in the way.
    package static func start(
        _ options: DaemonOptions,
        _ directories: DaemonDirectories,
        log: Logger
    ) async throws -> Daemon {
        let locks = try lock(directories)
        let settings = try readSettings(directories)
        if let error = readOnly(directories.state) {
            log.warning("Nothing can be saved, going on with what is there: \(error)")
        }
        let incidents = Incidents { log.warning($0) }
        let (keychain, keychainIncidents) = try openKeychain(directories, log)
        let contents = try StoreContents.load(directories, keychain)
        for incident in contents.incidents + keychainIncidents { incidents.add(incident) }
        let store = ConfigurationStore(directories, keychain: keychain, contents: contents, incidents: incidents)
        let catalogue = ProviderCatalogue(
            folders: [directories.descriptors, ProviderCatalogue.packaged],
            programs: ownFolder()
        )
        let hub = EventHub()
        let network = try openNetwork()
        let bus = SystemBus(address: options.busAddress)
        let dns = DNSControl(
            bus: bus,
            programs: options.programPath,
            ownInterfaces: network.ownInterfaces,
            notice: { log.notice($0) }
        )
        let sessions = SessionJournal(folder: directories.journal)
        // Before any name is looked up: what a dead session left would mislead it.
        let stale = dns.takeBackStale(keeping: try sessions.interfacesWithDNS())
        if let removed = stale.removed { log.notice("Took back \(removed).") }
        if let failed = stale.failed { log.warning("Can't take back \(failed)") }
        let blockLog = SteadyLogger(log)
        let block = TrafficBlock(file: directories.block) { blockLog.log($0) }
        let services = TunnelServices(
            launcher: try launcher(options, directories),
            network: HostTunnelNetwork(host: network, dns: dns, dnsIsOptional: settings.dnsIsOptional),
            block: HostTunnelBlock(block),
            keychain: keychain,
            store: store,
            catalogue: catalogue,
            journal: sessions,
            timestamps: TimestampStore(folder: directories.timestamps),
            lastErrors: LastErrorStore(folder: directories.lastErrors),
            hub: hub,
            epoch: try Epoch.next(path: directories.epoch),
            startTimeout: settings.startTimeout,
            wgFolder: WGSocket.folder,
            log: log
        )
        let tunnels = Tunnels(services)
        let gate = StartGate()
        let announcer = ConfigurationAnnouncer(tunnels: tunnels, hub: hub)
        let observer = try observe(network, bus)
        let service = try DaemonService.make(
            store: store,
            keychain: keychain,
            catalogue: catalogue,
            tunnels: tunnels,
            hub: hub,
            settled: { await announcer.settled() },
            permission: Permission(
                allowsAllUsers: settings.allowsAllUsers,
                authority: Polkit(bus: bus, log: log).authority
            ),
            incidents: incidents,
            network: observer,
            gate: gate,
            log: log
        )
        // A client that is in the way again and again must not fill the journal.
        let steadyLog = SteadyLogger(log)
        let server = VarlinkServer(service) { incident in
            steadyLog.log(.info, topic: incident.topic, at: .now(), "A client was in the way: \(incident)")
        }
        let listener = try listen(directories)
        // Before anything else looks at the network: what a dead session left would mislead it.
        try await resume(tunnels, gate, server, listener)
        await store.onChange { announcer.announce($0) }
        await store.settleExclusives()
        let edits = ExternalEdits(
            store: store,
            catalogue: catalogue,
            tunnels: tunnels,
            directories: directories,
            log: log
        )
        await edits.start(changed: contents.edited)
        let monitor = watch(network, dns, tunnels, observer, log)
        let sleep = watchSleep(tunnels, services.running, bus, log)
        await gate.open()
        await gate.serve(server, on: listener)
        await BootStarts(store: store, catalogue: catalogue, tunnels: tunnels, log: log)
            .run(BootMark(paths: directories.boots))
        return Daemon(server: server, locks: locks, monitor: monitor, sleep: sleep, tunnels: tunnels, edits: edits)
    }

    /// Goes on with what an earlier tunneld left; clients that come meanwhile wait, and are told so where that takes long.
    private static func resume(
        _ tunnels: Tunnels,
        _ gate: StartGate,
        _ server: VarlinkServer,
        _ listener: UnixListener
    ) async throws {
        let serving = Task {
            guard (try? await Pause.sleep(for: .seconds(1))) != nil else { return }
            await gate.serve(server, on: listener)
        }
        defer { serving.cancel() }
        do {
            try await tunnels.resumeAll()
        } catch {
            listener.removeFile()
            await server.stop()
            throw error
        }
    }

    private init(
        server: VarlinkServer,
        locks: [LockFile],
        monitor: NetworkMonitor?,
        sleep: SleepWatch,
        tunnels: Tunnels,
        edits: ExternalEdits
    ) {
        self.edits = edits
        self.server = server
        self.locks = locks
        self.monitor = monitor
        self.sleep = sleep
        self.tunnels = tunnels
    }

    /// Closes the control socket.
    ///
    /// The providers go on: their tunnels are the next tunneld's.
    package func stop() async {
        monitor?.cancel()
        await sleep.stop()
        await edits.stop()
        await server.stop()
        await tunnels.abandonAll()
        for lock in locks { lock.release() }
    }

    // MARK: Pieces

    private static func lock(_ directories: DaemonDirectories) throws(ControlError) -> [LockFile] {
        do throws(SystemError) {
            try makeFolders(to: directories.state, mode: 0o700)
        } catch {
            throw unusable(directories.state, "STATE_DIRECTORY", error)
        }
        do throws(SystemError) {
            try makeFolders(to: directories.runtime, mode: 0o755)
            try makeFolder(directories.journal, mode: 0o700)
        } catch {
            throw unusable(directories.runtime, "RUNTIME_DIRECTORY", error)
        }
        return [
            try lock(directories.state, "STATE_DIRECTORY"), try lock(directories.runtime, "RUNTIME_DIRECTORY"),
        ]
    }

    /// Why the state directory takes no change at all; nil where it does, for all that is known.
    private static func readOnly(_ folder: String) -> SystemError? {
        guard unsafe access(folder, W_OK) != 0, errno == EROFS else { return nil }
        return SystemError(EROFS, call: folder)
    }

    private static func unusable(_ folder: String, _ variable: String, _ error: SystemError) -> ControlError {
        ControlError(
            .configurationReadWriteFailed,
            "tunneld can't use its directory \(folder).",
            reason: "\(error).",
            remedy: error.fileRemedy(folder, or: "name another directory in \(variable)")
        )
    }

    private static func lock(_ folder: String, _ variable: String) throws(ControlError) -> LockFile {
        let path = folder + "/lock"
        do throws(LockFile.Failure) {
            return try LockFile.acquire(path: path)
        } catch {
            switch error {
            case .held(let held):
                throw ControlError(
                    .unavailable,
                    "Another tunneld uses these directories.",
                    reason: "Process \(held.process.map(String.init) ?? "unknown") holds \(held.path).",
                    remedy: "Use that one, or name other directories in STATE_DIRECTORY and RUNTIME_DIRECTORY."
                )
            case .system(let error):
                throw unusable(folder, variable, SystemError(error.code, call: "\(path): \(error.call)"))
            }
        }
    }

    private static func readSettings(_ directories: DaemonDirectories) throws(ControlError) -> DaemonSettings {
        let path = directories.settings
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(ofFile: path, limit: 1 << 20)
        } catch {
            if error.isAbsentFile { return DaemonSettings() }
            throw settingsError(path, error.description)
        }
        do throws(DaemonSettings.Fault) {
            return try DaemonSettings(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw settingsError(path, error.description)
        }
    }

    private static func settingsError(_ path: String, _ reason: String) -> ControlError {
        ControlError(.invalidParameter, "\(path) can't be used.", reason: reason, remedy: "Correct or remove it.")
    }

    /// The keychain, whose items are sealed under the present host key by now, and what an operator should know of it.
    private static func openKeychain(
        _ directories: DaemonDirectories,
        _ log: Logger
    ) throws(ControlError) -> (Keychain, [String]) {
        Keychain.onLockFailure { error in
            log.warning(
                "Secrets may be swapped to disk, going on without locked memory: \(error). Raise RLIMIT_MEMLOCK "
                    + "(LimitMEMLOCK= of the unit)."
            )
        }
        let keychain: Keychain
        do throws(KeychainError) {
            let keys = HostKeys.load(credentials: directories.credentials, state: directories.state)
            keychain = try Keychain(folder: directories.keychain, keys: keys)
        } catch {
            throw ControlError(
                .configurationReadWriteFailed,
                "The keychain \(directories.keychain) can't be used.",
                reason: error.description,
                remedy: error.remedy
            )
        }
        let (sealed, incidents) = keychain.sealAll()
        if sealed > 0 { log.notice("Sealed \(sealed) keychain items under this machine's host key.") }
        guard let problem = keychain.problem else { return (keychain, incidents) }
        return (keychain, ["The keychain is locked, so secrets can be neither read nor kept: \(problem)."])
    }

    private static func launcher(
        _ options: DaemonOptions,
        _ directories: DaemonDirectories
    ) throws(ControlError) -> any ProviderLauncher {
        guard options.launcher != .systemd else {
            throw ControlError(
                .unavailable,
                "Providers can't be started through systemd.",
                reason: "This version of tunneld only spawns them; units of systemd come with a later one.",
                remedy: "Use --launcher spawn."
            )
        }
        do throws(SystemError) {
            return try SpawnLauncher(folder: directories.providers)
        } catch {
            throw ControlError(
                .configurationReadWriteFailed,
                "The folder \(directories.providers) can't be made.",
                reason: error.description,
                remedy: error.fileRemedy(directories.providers)
            )
        }
    }

    private static func openNetwork() throws(ControlError) -> HostNetwork {
        do {
            return try HostNetwork()
        } catch {
            throw ControlError(.networkSettingsFailed, "tunneld can't talk to rtnetlink.", reason: "\(error)")
        }
    }

    private static func observe(_ network: HostNetwork, _ bus: SystemBus) throws(ControlError) -> NetworkObserver {
        do {
            let reader = try network.snapshotReader(bus: bus)
            return NetworkObserver(bus: bus) { try await reader.read() }
        } catch {
            throw ControlError(.networkSettingsFailed, "tunneld can't talk to rtnetlink.", reason: "\(error)")
        }
    }

    private static func watch(
        _ network: HostNetwork,
        _ dns: DNSControl,
        _ tunnels: Tunnels,
        _ observer: NetworkObserver,
        _ log: Logger
    ) -> NetworkMonitor? {
        do {
            let monitor = try network.monitor(on: DispatchQueue(label: "network-monitor")) { @Sendable events in
                log.debug("The network changed: \(events)")
                Task { await observer.changed() }
                Task {
                    if events.contains(.ownLinks) { await tunnels.interfacesChanged() }
                    if events.contains(.ownSettings) { await tunnels.settingsChanged() }
                    guard !events.subtracting(.own).isEmpty else { return }
                    await dns.networkChanged()
                    await tunnels.pathChanged()
                }
            }
            monitor.resume()
            return monitor
        } catch {
            log.warning("Changes of the network aren't noticed; tunnels try again at their own pace: \(error)")
            return nil
        }
    }

    private static func listen(_ directories: DaemonDirectories) throws(ControlError) -> UnixListener {
        do throws(UnixListenerError) {
            return try UnixListener(.stream, at: UnixSocketAddress(directories.controlSocket), mode: 0o666)
        } catch {
            throw ControlError(
                .unavailable,
                "tunneld can't listen on its control socket.",
                reason: error.description,
                remedy: remedy(error)
            )
        }
    }

    private static func remedy(_ error: UnixListenerError) -> String {
        let other = "name another directory in RUNTIME_DIRECTORY"
        return switch error {
        case .inUse: "End the process that has it, or \(other)."
        case .notASocket(let path): "Move \(path) away, or \(other)."
        case .system(let error, let path): error.fileRemedy(path, or: other)
        }
    }

    /// The folder of the running program, beside which its providers lie.
    private static func ownFolder() -> String? {
        guard let path = try? OwnProcess.executable(), let slash = path.lastIndex(of: "/") else { return nil }
        return String(path[..<slash])
    }
}
