import Glibc
import LinuxSystem
package import Netlink

/// Whether an interface name may be given to a new tunnel.
///
/// Names are unique on the machine, not only in a network namespace: the sockets of userspace WireGuard devices are
/// named after their interfaces and all stand in one folder.
package enum InterfaceNameCheck {
    package enum Problem: Hashable, Sendable {
        /// The kernel allows no such name (dev_valid_name: 1 to 15 bytes, no "/", ":" or space, not "." or "..").
        case malformed
        /// An interface of this name exists in this network namespace.
        case linkExists
        /// A program answers on the socket of that name, maybe for an interface in another network namespace.
        case socketAnswers(String)
    }

    /// Where userspace WireGuard devices have their sockets (wireguard.com/xplatform).
    package static let standardFolder = "/var/run/wireguard"

    /// - Returns: what stands against the name; nil if it may be used.
    package static func problem(
        with name: String,
        _ tables: KernelTables,
        folder: String = standardFolder
    ) throws(NetlinkError) -> Problem? {
        guard isWellFormed(name) else { return .malformed }
        if try tables.link(named: name) != nil { return .linkExists }
        let path = "\(folder)/\(name).sock"
        return answers(path) ? .socketAnswers(path) : nil
    }

    static func isWellFormed(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let forbidden = Array("/:%".utf8)
        return (1..<Int(IFNAMSIZ)).contains(bytes.count) && name != "." && name != ".."
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && !forbidden.contains($0) }
    }

    /// Whether somebody accepts connections there; a socket file alone may be left from a crash.
    static func answers(_ path: String) -> Bool {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: name.sun_path) else { return false }
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let raw = socket(AF_UNIX, kind, 0)
        guard raw >= 0 else { return false }
        let descriptor = OwnedDescriptor(adopting: raw)
        let result = unsafe withUnsafePointer(to: &name) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor.raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        let code = errno
        // A full queue of connections (EAGAIN) is somebody who listens, too.
        return result == 0 || code == EAGAIN
    }
}
