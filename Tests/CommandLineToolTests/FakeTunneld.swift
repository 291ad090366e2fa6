import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import VarlinkCore
import VarlinkSocket

/// A tunneld in this process, on a socket of its own: answers what a test put into it and keeps what it was asked.
final class FakeTunneld: Sendable {
    struct State {
        var sessions: [SessionView] = []
        var configurations: [Configuration] = []
        /// What a method ("Start") fails with.
        var errors: [String: ControlError] = [:]
        /// Whose stop is refused.
        var denied: [String: ControlError] = [:]
        /// What happens behind a start that was accepted; the reply comes from here, too.
        var onStart: @Sendable (FakeTunneld, String) -> SessionsCalls.StartReply = { _, _ in
            SessionsCalls.StartReply(session: "s1", alreadyRunning: false)
        }
        var onStop: @Sendable (FakeTunneld, String) -> Void = { fake, identifier in
            fake.change(identifier) { $0.takeDown() }
        }
        /// What happens as the state is read, and how long that takes to begin.
        var onStatus: @Sendable (inout State) -> Void = { _ in }
        var statusDelay = Duration.zero
        /// Answers a save, or refuses it.
        var onSave:
            @Sendable (FakeTunneld, ConfigurationsCalls.SaveParameters) throws -> ConfigurationsCalls.SaveReply =
                { _, parameters in
                    let identifier = parameters.configuration.identifier
                    return ConfigurationsCalls.SaveReply(
                        identifier: identifier.isEmpty ? Samples.newIdentifier : identifier,
                        generation: (parameters.generation ?? 0) + 1,
                        warnings: []
                    )
                }
        var messages: [MessageCalls.SendParameters] = []
        var answer: DataValue?
        var findings: [Finding] = []
        var network = NetworkCommandTests.network
        var secrets: [(label: String, bytes: [UInt8])] = []
        /// Methods in the order in which they were called.
        var calls: [String] = []
        var saves: [ConfigurationsCalls.SaveParameters] = []
        var savedSecrets: [String: [UInt8]] = [:]
        var removals: [String] = []
        var removedGenerations: [Int?] = []
        var history = ConfigurationsCalls.HistoryReply(
            identifier: Samples.home,
            name: "home",
            generations: [],
            lost: nil,
            readAt: Samples.now
        )
        var restores: [ConfigurationsCalls.RestoreParameters] = []
        var lost: [ConfigurationsCalls.Lost] = []
        /// Those that were put in, and one for each session without one.
        var allConfigurations: [Configuration] {
            let known = Set(configurations.map(\.identifier))
            let others = sessions.filter { !known.contains($0.identifier) }
            return configurations + others.map { Samples.configuration($0.identifier, $0.name) }
        }
        var entries: [SessionsCalls.Entry] {
            allConfigurations.map { configuration in
                let view = sessions.first { $0.identifier == configuration.identifier }
                return SessionsCalls.Entry(
                    identifier: configuration.identifier,
                    name: view?.name ?? configuration.name,
                    owner: configuration.owner,
                    enabled: view?.enabled ?? configuration.enabled,
                    status: view?.status ?? .disconnected
                )
            }
        }
        fileprivate var monitors: [(identifier: String?, responder: Responder)] = []
        fileprivate var sequence = 0
    }

    private let state = Mutex(State())
    let socket: String
    private let server: VarlinkServer
    private let box = FakeBox()

    /// - Parameters:
    ///   - interfaces: what it serves, for an older tunneld; nil: all.
    ///   - path: where it listens; nil: in a new folder.
    init(
        version: String = ProductVersion.version,
        interfaces: [String]? = nil,
        at path: String? = nil
    ) async throws {
        socket = try path ?? Self.newFolder() + "/control"
        server = VarlinkServer(try FakeService.make(box, version: version, interfaces: interfaces))
        box.fake.withLock { $0 = self }
        await server.listen(on: try UnixListener(.stream, at: UnixSocketAddress(socket), mode: 0o600))
    }

    /// Goes away as a tunneld that was killed: the socket's file is gone, and every connection.
    ///
    /// - Parameter folderStays: for another fake at the same place, which removes it.
    func stop(folderStays: Bool = false) async {
        await server.stop()
        state.withLock { $0.monitors = [] }
        box.fake.withLock { $0 = nil }
        if !folderStays { _ = unsafe rmdir(String(socket.dropLast("/control".count))) }
    }

    private static func newFolder() throws -> String {
        var template = Array("/tmp/fake-tunneld-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func update<R>(_ body: (inout State) -> sending R) -> R { state.withLock { body(&$0) } }

    func called(_ method: String) throws {
        let error = update { state -> ControlError? in
            state.calls.append(method)
            return state.errors[method]
        }
        if let error { throw VarlinkError(error.varlinkName, error) }
    }

    /// Changes a session's state and tells the monitors.
    func change(_ identifier: String, error: ControlError? = nil, _ body: @Sendable (inout SessionView) -> Void) {
        let view = update { state -> SessionView? in
            guard let index = state.sessions.firstIndex(where: { $0.identifier == identifier }) else { return nil }
            body(&state.sessions[index])
            return state.sessions[index]
        }
        if let view { tell(.status, view, error: error) }
    }

    func tell(_ kind: SessionsCalls.Event.Kind, _ view: SessionView, error: ControlError? = nil) {
        state.withLock { state in
            state.sequence += 1
            let event = Self.event(kind, view, state.sequence, error: error)
            for monitor in state.monitors where monitor.identifier == nil || monitor.identifier == view.identifier {
                try? monitor.responder.send(event)
            }
        }
    }

    /// Tells the monitors that they missed events, and the present state.
    func resynchronise(lost: Int) throws {
        try state.withLock { state in
            for monitor in state.monitors {
                let sequence = state.sequence
                let gap = SessionsCalls.Event(.resynchronise, lost: lost, sequence: sequence, at: Samples.now)
                try monitor.responder.send(gap)
                for view in state.sessions where monitor.identifier == nil || view.identifier == monitor.identifier {
                    try monitor.responder.send(Self.event(.present, view, sequence, error: nil))
                }
                try monitor.responder.send(SessionsCalls.Event(.ready, sequence: sequence, at: Samples.now))
            }
        }
    }

    func monitor(_ identifier: String?, _ responder: Responder) throws {
        try state.withLock { state in
            for view in state.sessions where identifier == nil || view.identifier == identifier {
                try responder.send(Self.event(.present, view, state.sequence, error: nil))
            }
            try responder.send(SessionsCalls.Event(.ready, sequence: state.sequence, at: Samples.now))
            state.monitors.append((identifier, responder))
        }
    }

    private static func event(
        _ kind: SessionsCalls.Event.Kind,
        _ view: SessionView,
        _ sequence: Int,
        error: ControlError?
    ) -> SessionsCalls.Event {
        SessionsCalls.Event(
            sequence: sequence,
            time: Samples.now,
            kind: kind,
            identifier: view.identifier,
            name: view.name,
            status: view.status,
            reason: view.reason,
            error: error,
            snapshot: view
        )
    }
}

/// The fake, once it is there: the service is made before it.
final class FakeBox: Sendable {
    let fake = Mutex<FakeTunneld?>(nil)

    func get() throws -> FakeTunneld {
        guard let fake = fake.withLock({ $0 }) else { throw VarlinkError.internalError("The fake isn't ready.") }
        return fake
    }
}

extension SessionView {
    mutating func takeDown() {
        status = .disconnected
        session = nil
        interface = nil
        counters = nil
    }
}
