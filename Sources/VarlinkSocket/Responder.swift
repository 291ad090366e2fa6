package import LinuxSystem
import Synchronization
package import VarlinkCore

/// Nobody takes replies to this call any more.
package struct CallerGone: Error, Equatable, Sendable, CustomStringConvertible {
    package var description: String { "nobody takes replies to this call any more" }
}

/// Takes the replies to one call.
///
/// May be kept, and used from any thread, until the last reply.
///
/// When it goes without a last reply, the caller gets an error: no call hangs for ever.
package final class Responder: Sendable {
    private let outlet: ReplyOutlet
    private let state: Mutex<CallState>
    /// Whether the caller takes replies that continue.
    package let wantsMore: Bool

    init(_ call: VarlinkCall, _ outlet: ReplyOutlet) {
        self.outlet = outlet
        state = Mutex(CallState(call))
        wantsMore = call.replyMode == .more
    }

    deinit {
        try? answer(VarlinkReply(.error(.internalError("The service gave no answer."))))
    }

    /// Sends the only or the last reply.
    ///
    /// - Throws: `CallState.Fault.alreadyAnswered`; `EncodingError`, after which the call is still open.
    package func reply(_ parameters: some Encodable, descriptors: [SharedDescriptor] = []) throws {
        try answer(VarlinkReply(parameters), descriptors)
    }

    /// Sends a reply that others will follow.
    ///
    /// Look at `queuedBytes`, or wait for `drained`, before sending more to a caller who may be slow: beyond the server's
    /// limit the connection is closed.
    ///
    /// - Throws: `CallerGone`, so that a loop of replies ends; `CallState.Fault`, `moreNotRequested` for an ordinary
    ///   call; `EncodingError`.
    package func send(_ parameters: some Encodable, descriptors: [SharedDescriptor] = []) throws {
        try answer(VarlinkReply(parameters, continues: true), descriptors)
    }

    /// Sends a reply that was encoded before, for several callers.
    ///
    /// - Throws: as `send` of a value.
    package func send(_ reply: VarlinkReply) throws { try answer(reply) }

    /// Sends an error as the last reply; does nothing if that was sent already.
    package func fail(_ error: any Error) {
        let told: VarlinkError =
            switch error {
            case let error as VarlinkError: error
            case let error as any VarlinkErrorConvertible: error.varlinkError
            case CallState.Fault.moreNotRequested: .expectedMore
            default: .internalError("The service failed: \(error)")
            }
        try? answer(VarlinkReply(.error(told)))
    }

    /// Bytes that wait for the caller to read, of all replies on its connection.
    package var queuedBytes: Int { outlet.queuedBytes }

    /// False once the caller is known to be gone; what is sent then is dropped.
    package var isConnected: Bool { outlet.isOpen }

    /// Waits until the caller has read most of what was sent, or is gone, or the task is cancelled.
    ///
    /// - Parameter level: how many bytes may still wait for it; nil: half of what the server's limit pauses at.
    package func drained(to level: Int? = nil) async { await outlet.drained(to: level) }

    /// Calls a function once when the caller goes away; at once if it has.
    ///
    /// Not called after an ordinary end of the call.
    package func onDisconnect(_ body: @escaping @Sendable () -> Void) { outlet.onClose(body) }

    func answer(_ reply: VarlinkReply, _ descriptors: [SharedDescriptor] = []) throws {
        let bytes = reply.encoded()
        // Within the lock, so that replies leave in the order in which the state saw them.
        try state.withLock { state in
            let isWanted = try state.answer(continues: reply.continues)
            let isHeard = outlet.deliver(isWanted ? bytes : nil, descriptors, isLast: !reply.continues)
            if !isHeard && reply.continues { throw CallerGone() }
        }
    }
}
