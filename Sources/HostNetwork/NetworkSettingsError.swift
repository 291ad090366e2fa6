import Glibc
import Netlink

/// Settings that could not be applied; nothing of them is in force.
package struct NetworkSettingsError: Error, Hashable, Sendable {
    /// Stable; what tests compare and callers turn into an error of the control interface.
    package enum Code: String, Hashable, Sendable {
        /// A route to the same prefix is there already and belongs to somebody else.
        case conflict
        case interfaceGone
        case noPermission
        /// The tunnel has only IPv6 addresses and the host has no IPv6.
        case ipv6Unavailable
        case invalidMTU
        /// The journal could not be written, so the change was not made.
        case journalNotWritten
        /// All of our tables or rule priorities are in use.
        case exhausted
        case refused
    }

    package let code: Code
    /// The step that failed, as a sentence.
    package let what: String
    package let why: String?
    package let remedy: String?

    package init(_ code: Code, _ what: String, why: String? = nil, remedy: String? = nil) {
        self.code = code
        self.what = what
        self.why = why
        self.remedy = remedy
    }

    /// Says which step the kernel refused.
    init(_ what: String, _ error: NetlinkError) {
        switch error.code {
        case EPERM, EACCES:
            self.init(
                .noPermission,
                what,
                why: error.description,
                remedy: "Run tunneld as root or with CAP_NET_ADMIN in this network namespace."
            )
        case ENODEV:
            self.init(.interfaceGone, what, why: error.description, remedy: "Start the tunnel again.")
        case EADDRNOTAVAIL:
            self.init(.refused, what, why: error.description, remedy: "Give the tunnel another address.")
        default:
            self.init(.refused, what, why: error.description)
        }
    }
}

extension NetworkSettingsError: CustomStringConvertible {
    package var description: String {
        [what, why, remedy].compactMap { $0 }.joined(separator: " ")
    }
}
