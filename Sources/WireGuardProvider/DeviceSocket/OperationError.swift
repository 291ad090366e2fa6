import Glibc

/// How an operation of the userspace protocol fails: an errno, told with a minus as `wg` expects it.
package enum OperationError: Error, Equatable, Sendable {
    /// A line without "=", or an operation that is neither `get` nor `set`.
    case malformed
    /// An unknown key, or a value that it can't have.
    case invalid
    /// More bytes than an operation may have, or more peers or allowed IPs than a device may have.
    case tooLarge
    /// Something that tunneld keeps to itself: a mark other than its own, a device without a key.
    case notSupported
    /// No socket could be had at the port.
    case portUnavailable

    package var code: Int32 {
        switch self {
        case .malformed: EPROTO
        case .invalid: EINVAL
        case .tooLarge: E2BIG
        case .notSupported: EOPNOTSUPP
        case .portUnavailable: EADDRINUSE
        }
    }

    /// "errno=-22" and the empty line.
    package var reply: String { "errno=-\(code)\n\n" }

    package static let success = "errno=0\n\n"
}
