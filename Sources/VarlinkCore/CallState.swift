/// Which replies a call may still get.
///
/// Exactly one, for an ordinary call; for one with `more` any number that continue and one that ends; for a one-way
/// call none, though its handler needn't know: what it says is dropped.
///
/// Source: https://varlink.org/Method-Call.
package enum CallState: Equatable, Sendable {
    package enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
        case alreadyAnswered
        /// A reply that continues, for a caller that takes only one.
        case moreNotRequested

        package var description: String {
            switch self {
            case .alreadyAnswered: "the call has had its last reply"
            case .moreNotRequested: "the caller takes only one reply"
            }
        }
    }

    case open(VarlinkCall.ReplyMode)
    case finished

    package init(_ call: VarlinkCall) { self = .open(call.replyMode) }

    /// Takes note of a reply.
    ///
    /// - Returns: whether it is to be sent.
    package mutating func answer(continues: Bool) throws(Fault) -> Bool {
        guard case .open(let mode) = self else { throw .alreadyAnswered }
        if continues && mode == .one { throw .moreNotRequested }
        if !continues { self = .finished }
        return mode != .none
    }
}
