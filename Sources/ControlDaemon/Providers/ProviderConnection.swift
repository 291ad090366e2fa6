import ControlAPI
import EventLoop
import Glibc
import LinuxSystem
import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// tunneld's connections to one provider: calls, the stream of its states and requests, and descriptors.
struct ProviderConnection: Sendable {
    /// How long a provider may take to answer a call.
    static let patience = Interval.seconds(10)

    let calls: VarlinkConnection
    let descriptors: DescriptorChannel
    private let events: VarlinkConnection

    /// Connects to a provider as soon as it listens, and makes sure that it is the one that was launched.
    ///
    /// - Parameters:
    ///   - patience: how long it may take until it listens; nil: as long as it lives and nobody cancels.
    ///   - step: is told what comes next, as the object of "while it was to".
    /// - Throws: `providerFailed`, `timedOut`; `CancellationError`.
    static func open(
        _ provider: LaunchedProvider,
        patience: Interval?,
        step: (String) -> Void
    ) async throws -> ProviderConnection {
        let control = provider.folder + "/control"
        let deadline = patience.map { Instant.now() + $0 }
        step("wait for the provider's control socket")
        let calls = try await whenListening(provider, deadline) { try await VarlinkConnection.connect(to: control) }
        let events = try await whenListening(provider, deadline) { try await VarlinkConnection.connect(to: control) }
        step("wait for the provider's descriptor socket")
        let descriptors = try await whenListening(provider, deadline) {
            try await DescriptorChannel.connect(to: provider.folder + "/descriptors")
        }
        for peer in [calls.peer, events.peer, descriptors.peer] { try check(peer, provider) }
        return ProviderConnection(calls: calls, descriptors: descriptors, events: events)
    }

    /// Another connection to a provider that is controlled already, for one call that may take long.
    ///
    /// - Parameter patience: how long to try again while the provider takes no further connection.
    /// - Throws: `providerFailed`; `VarlinkClientError`; `CancellationError`.
    static func connect(
        to provider: LaunchedProvider,
        patience: Interval
    ) async throws -> VarlinkConnection {
        let connection = try await VarlinkConnection.connect(to: provider.folder + "/control", patience: patience)
        try check(connection.peer, provider)
        return connection
    }

    private static func check(_ peer: PeerCredentials, _ provider: LaunchedProvider) throws(ControlError) {
        guard peer.process == provider.identity.pid, peer.user == provider.user else {
            throw ControlError(
                .providerFailed,
                "The tunnel's provider can't be controlled.",
                reason: "Process \(peer.process) of user \(peer.user) listens on its socket, not process "
                    + "\(provider.identity.pid) of user \(provider.user)."
            )
        }
    }

    private init(calls: VarlinkConnection, descriptors: DescriptorChannel, events: VarlinkConnection) {
        self.calls = calls
        self.descriptors = descriptors
        self.events = events
    }

    /// Takes control; the replies are the provider's states and requests, the first its present state.
    func attach(epoch: UInt64, nonce: String, patience: Interval) async throws -> ReplyStream {
        do {
            return try await events.callMore(
                "\(ProviderCalls.interface).Attach",
                ProviderCalls.AttachParameters(version: ProviderCalls.version, epoch: epoch, nonce: nonce),
                firstReplyTimeout: patience
            )
        } catch {
            throw Self.explained(error, "attach to it")
        }
    }

    /// Calls a method of `org.tunneld.Provider`.
    ///
    /// - Throws: the provider's own `ControlError`; `timedOut` or `providerFailed` where there is no answer;
    ///   `CancellationError`.
    func call<Result: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        as type: Result.Type = NoParameters.self,
        timeout: Interval = patience
    ) async throws -> Result {
        do {
            return try await calls.call(
                "\(ProviderCalls.interface).\(method)",
                parameters,
                as: type,
                timeout: timeout
            )
        } catch {
            throw Self.explained(error, "have it answer \(method)")
        }
    }

    /// Whether the provider answers a Ping in time; that it doesn't know the method is an answer too.
    func answers(within patience: Interval) async -> Bool {
        do {
            let ping = "\(ProviderCalls.interface).Ping"
            let _: NoParameters = try await calls.call(ping, timeout: patience)
            return true
        } catch {
            // That the connection broke is told by its readers.
            return error as? VarlinkClientError != .timedOut
        }
    }

    /// Sends descriptors, each with its label, in the order of the labels.
    func send(_ labelled: [String: SharedDescriptor]) async throws {
        do {
            for (label, descriptor) in labelled.sorted(by: { $0.key < $1.key }) {
                try await descriptors.send(label.utf8, [descriptor])
            }
        } catch {
            throw Self.explained(error, "pass descriptors to it")
        }
    }

    func close() async {
        await calls.close()
        await events.close()
        await descriptors.close()
    }

    /// Any failure as an error that a person can use; cancellation stays what it is.
    static func explained(_ error: any Error, _ what: String) -> any Error {
        if error is CancellationError || error is ControlError { return error }
        if let error = error as? VarlinkError, let told = told(error) { return told }
        let isTimeout = error as? VarlinkClientError == .timedOut
        let reason = (error as? DecodingError).map { "What it says can't be read: \($0.fieldAndFault)" }
        return ControlError(
            isTimeout ? .timedOut : .providerFailed,
            "The tunnel's provider is in trouble: can't \(what).",
            reason: reason ?? "\(error)"
        )
    }

    /// What a provider answered, in our terms and, where it used them, in its own.
    static func told(_ error: VarlinkError) -> ControlError? {
        guard var told = try? error.decode(ControlError.self) else { return nil }
        let domain = error.name.split(separator: ".").dropLast().joined(separator: ".")
        if told.underlying == nil, domain != "org.tunneld" {
            told.name = .providerFailed
            let code = (try? error.decode(Code.self))?.code ?? 0
            told.underlying = ProviderError(domain: domain, code: code, message: told.message)
        }
        return told
    }

    private struct Code: Decodable { let code: Int }

    /// Tries again while the socket isn't there yet, as long as the process lives.
    private static func whenListening<T: Sendable>(
        _ provider: LaunchedProvider,
        _ deadline: Instant?,
        _ connect: () async throws -> T
    ) async throws -> T {
        var pause = 2
        while true {
            do {
                return try await connect()
            } catch let error where isEarly(error) {
                guard !provider.process.hasEnded else { throw explained(error, "connect to it") }
                if let deadline, Instant.now() >= deadline {
                    throw ControlError(.timedOut, "The tunnel's provider doesn't listen.", reason: "\(error)")
                }
            } catch {
                throw explained(error, "connect to it")
            }
            try await Pause.sleep(for: .milliseconds(pause))
            pause = min(pause * 2, 50)
        }
    }

    private static func isEarly(_ error: any Error) -> Bool {
        switch error {
        case VarlinkClientError.cannotConnect(_, let error), DescriptorChannel.Failure.cannotConnect(_, let error):
            error.code == ENOENT || error.code == ECONNREFUSED || error.code == EAGAIN
        default: false
        }
    }
}
