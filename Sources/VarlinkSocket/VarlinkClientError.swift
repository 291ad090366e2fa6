package import LinuxSystem
package import VarlinkCore

/// Why a call brought no reply.
///
/// An error that the service replied with is thrown as the `VarlinkError` that it is.
package enum VarlinkClientError: Error, Equatable, Sendable {
    /// Nobody listens, there is no such file, or it isn't for us: the error's code tells.
    case cannotConnect(path: String, SystemError)
    /// The connection ended before the last reply.
    case disconnected
    case timedOut
    /// The request is longer than the service would take; nothing was sent.
    case requestTooLong(limit: Int)
    case malformedReply(MessageError)
    /// A reply to nothing, or several to a call that takes one.
    case unexpectedReply
}

extension VarlinkClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .cannotConnect(let path, let error): "cannot connect to \(path): \(error)"
        case .disconnected: "the service closed the connection before it had answered"
        case .timedOut: "the service did not answer in time"
        case .requestTooLong(let limit): "the request is longer than \(limit) bytes"
        case .malformedReply(let error): "the service sent something that is no reply: \(error)"
        case .unexpectedReply: "the service sent a reply that was not asked for"
        }
    }
}
