import CShims
import Glibc

/// Who is at the other end of a Unix socket, as the kernel says.
///
/// They are those of the moment when the other end was connected (for a listener: when it began to listen); a process
/// id may belong to another process by now.
package struct PeerCredentials: Equatable, Sendable {
    package let process: Int32
    package let user: UInt32
    package let group: UInt32
    /// Supplementary groups.
    package let groups: [UInt32]

    package init(process: Int32, user: UInt32, group: UInt32, groups: [UInt32]) {
        self.process = process
        self.user = user
        self.group = group
        self.groups = groups
    }

    /// Source: unix(7), SO_PEERCRED; SO_PEERGROUPS in net/core/sock.c.
    package init(of socket: Int32) throws(SystemError) {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
        try checkShim("getsockopt(SO_PEERCRED)") { unsafe shim_unix_peer(socket, &process, &user, &group) }
        self.init(process: process, user: user, group: group, groups: try Self.groups(of: socket))
    }

    package func isMember(of wanted: UInt32) -> Bool { group == wanted || groups.contains(wanted) }

    private static func groups(of socket: Int32) throws(SystemError) -> [UInt32] {
        var groups = [UInt32](repeating: 0, count: 32)
        while true {
            do throws(SystemError) {
                let capacity = Int32(groups.count)
                let count = try checkShim("getsockopt(SO_PEERGROUPS)") {
                    unsafe groups.withUnsafeMutableBufferPointer {
                        unsafe $0.baseAddress.map { unsafe shim_unix_peer_groups(socket, $0, capacity) } ?? 0
                    }
                }
                return Array(groups[..<Int(count)])
            } catch {
                // NGROUPS_MAX is 65,536.
                guard error.code == ERANGE, groups.count < 65_536 else { throw error }
                groups = [UInt32](repeating: 0, count: groups.count * 8)
            }
        }
    }
}
