package import LinuxSystem

/// Why a netlink exchange failed.
package enum NetlinkError: Error, Hashable, Sendable {
    /// The kernel said no: errno, and its own words where it has some (extended acknowledgement).
    case refused(code: Int32, text: String?)
    /// What arrived is not what netlink(7) describes.
    case malformed(String)
    /// The answer belongs to another request.
    case wrongSequence(expected: UInt32, got: UInt32)
    /// The tables changed under the dump, each time that it was tried.
    case interrupted
    /// The socket itself failed.
    case socket(SystemError)

    /// The errno of a refusal or of the socket; 0 where there is none.
    package var code: Int32 {
        switch self {
        case .refused(let code, _): code
        case .socket(let error): error.code
        case .malformed, .wrongSequence, .interrupted: 0
        }
    }
}

extension NetlinkError: CustomStringConvertible {
    /// One line for a log or for the "why" of an error: the kernel's text first, then the errno.
    package var description: String {
        switch self {
        case .refused(let code, let text):
            text.map { "\($0) (\(SystemError.name(code)))" }
                ?? "\(SystemError.text(code)) (\(SystemError.name(code)))"
        case .malformed(let what): "malformed netlink message: \(what)"
        case .wrongSequence(let expected, let got): "netlink answer \(got) arrived for request \(expected)"
        case .interrupted: "the kernel's tables kept changing while they were read"
        case .socket(let error): error.description
        }
    }
}
