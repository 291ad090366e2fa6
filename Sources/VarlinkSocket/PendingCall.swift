import FoundationEssentials
import NetworkTypes
import VarlinkCore

/// A call that was sent and whose last reply hasn't come.
struct PendingCall {
    enum Taker {
        /// Waits for the only reply.
        case single(CheckedContinuation<ReceivedReply, any Error>)
        /// Replies go into a `StreamBuffer`.
        case stream
        /// Nobody waits any more; the reply is dropped, so that those of later calls are still matched.
        case abandoned
    }

    let identifier: UInt64
    /// When the (first) reply must have come.
    var deadline: Instant?
    var taker: Taker
}

/// Replies of a stream between the socket and their consumer.
struct StreamBuffer {
    private var replies: [Result<ReceivedReply, VarlinkError>] = []
    private var bytes = 0
    /// The consumer, when it is faster than the service.
    var waiter: CheckedContinuation<ReceivedReply?, any Error>?
    /// The last reply has come.
    var isComplete = false

    /// Whether nothing more should be read for now.
    var isFull: Bool { bytes > 1 << 20 || replies.count >= 256 }

    mutating func append(_ reply: Result<ReceivedReply, VarlinkError>) {
        replies.append(reply)
        bytes += Self.size(of: reply)
    }

    mutating func popFirst() -> Result<ReceivedReply, VarlinkError>? {
        guard !replies.isEmpty else { return nil }
        let reply = replies.removeFirst()
        bytes -= Self.size(of: reply)
        return reply
    }

    private static func size(of reply: Result<ReceivedReply, VarlinkError>) -> Int {
        switch reply {
        case .success(let reply): reply.parameters.count
        case .failure(let error): error.parameters.count
        }
    }
}
