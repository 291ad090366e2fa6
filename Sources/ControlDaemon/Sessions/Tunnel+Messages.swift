import ControlAPI
import EventLoop
import Glibc
import LinuxSystem
import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// Messages to the provider: each gets one answer, the provider's or why there is none.
extension Tunnel {
    /// Messages to one provider that may wait for their answers at once.
    static let messageLimit = 32

    static func nobodyToHear(_ name: String) -> ControlError {
        ControlError(
            .tunnelNotRunning,
            "Nobody can take a message: \(name) isn't running.",
            remedy: "Start it: `\(TunnelctlCommand.text("up", name))`."
        )
    }

    /// Has the provider answer a message; one that is just being launched is waited for.
    ///
    /// - Parameter session: nil: whichever runs.
    /// - Throws: `tunnelNotRunning`, `timedOut`, `providerDied`, `messagesUnsupported`, `tooMany`, or what the provider
    ///   itself answers.
    func send(
        _ message: DataValue?,
        to session: String?,
        within timeout: Interval
    ) async throws -> MessageCalls.Reply {
        guard openMessages < Self.messageLimit else {
            throw ControlError(
                .tooMany,
                "The provider has too many messages to answer.",
                reason: "\(Self.messageLimit) wait already.",
                remedy: "Try again when some are answered."
            )
        }
        openMessages += 1
        defer { openMessages -= 1 }
        let deadline = Instant.now() + timeout
        let (present, provider) = try await listener(session, until: deadline, timeout)
        let watch = watchCall()
        defer { endCallWatch(watch) }
        do {
            return try await Self.deliver(message, to: provider, until: deadline)
        } catch {
            throw await explained(error, present, provider, timeout)
        }
    }

    /// The provider of the session, once it can be called.
    private func listener(
        _ wanted: String?,
        until deadline: Instant,
        _ timeout: Interval
    ) async throws -> (session: String, LaunchedProvider) {
        let name = live?.record.configuration.name ?? identifier
        while let takesCalls, let session = condition.session, wanted == nil || wanted == session {
            if takesCalls, let provider = live?.provider { return (session, provider) }
            guard Instant.now() < deadline else { throw Self.unanswered(timeout, "It is still being launched.") }
            try await Pause.sleep(for: .milliseconds(20))
        }
        guard let wanted, condition.session != nil else { throw Self.nobodyToHear(name) }
        throw ControlError(
            .tunnelNotRunning,
            "Nobody can take a message: the session \(wanted.prefix(64)) has ended.",
            remedy: "`\(TunnelctlCommand.text("status", name))` shows the present one."
        )
    }

    /// Each message has a connection of its own: one that takes long holds up neither the others nor the calls.
    private static func deliver(
        _ message: DataValue?,
        to provider: LaunchedProvider,
        until deadline: Instant
    ) async throws -> MessageCalls.Reply {
        let connection = try await ProviderConnection.connect(to: provider, patience: deadline - .now())
        let result: Result<MessageCalls.Reply, any Error>
        do {
            let reply: MessageCalls.Reply = try await connection.call(
                "\(ProviderCalls.interface).HandleMessage",
                MessageCalls.HandleParameters(message: message),
                timeout: deadline - .now()
            )
            result = .success(reply)
        } catch {
            result = .failure(error)
        }
        await connection.close()
        let reply = try result.get()
        guard (reply.reply?.bytes.count ?? 0) <= MessageCalls.limit else {
            throw ControlError(
                .providerFailed,
                "The provider's answer is too long.",
                reason: "It may have at most \(MessageCalls.limit) bytes."
            )
        }
        return reply
    }

    private func explained(
        _ error: any Error,
        _ session: String,
        _ provider: LaunchedProvider,
        _ timeout: Interval
    ) async -> ControlError {
        if let error = error as? VarlinkError {
            if error.name.hasPrefix("org.varlink.service.Method") || error.name.hasSuffix(".InterfaceNotFound") {
                return .messagesUnsupported
            }
            return ProviderConnection.told(error)
                ?? ControlError(.providerFailed, "The provider can't answer the message.", reason: error.description)
        }
        if let error = error as? ControlError { return error }
        if Self.cameTooLate(error) {
            return Self.unanswered(timeout, "It may still be at work on it.")
        }
        // The end of a process is seen a moment after its sockets are closed.
        let hasEnded = await Self.end(of: provider.process, milliseconds: 1000)
        if takesCalls == nil || condition.session != session {
            return ControlError(
                .tunnelNotRunning,
                "The tunnel was stopped before its provider had answered the message."
            )
        }
        guard hasEnded else {
            return ControlError(.providerFailed, "The provider left the message unanswered.", reason: "\(error).")
        }
        return ControlError(
            .providerDied,
            "The provider died before it had answered the message.",
            reason: "Process \(provider.process.pid) has ended; the message may have had its effect.",
            remedy: "`tunnelctl status` shows whether another one runs."
        )
    }

    /// No answer in time, or not even room for the question.
    private static func cameTooLate(_ error: any Error) -> Bool {
        switch error as? VarlinkClientError {
        case .timedOut: true
        case .cannotConnect(_, let cause): cause.code == EAGAIN
        default: false
        }
    }

    private static func unanswered(_ timeout: Interval, _ reason: String) -> ControlError {
        ControlError(
            .timedOut,
            "The provider didn't answer the message within \(timeout.inSeconds.formattedSeconds) seconds.",
            reason: reason,
            remedy: "Give it more time, or see what the tunnel does: tunnelctl status."
        )
    }
}

extension Double {
    fileprivate var formattedSeconds: String { self == rounded() ? "\(Int(self))" : "\(self)" }
}
