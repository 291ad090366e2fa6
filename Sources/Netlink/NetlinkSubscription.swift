import CMnl
package import CShims
import Glibc
package import LinuxSystem
import Synchronization

/// A socket that the kernel tells of changes, in the network namespace of the thread that makes it.
package final class NetlinkSubscription: Sendable {
    /// Readable when there is something to `receive`.
    package let descriptor: SharedDescriptor
    private let buffer = Mutex([UInt8](repeating: 0, count: 65_536))

    /// - Parameter groups: `RTNLGRP_LINK` and the like (rtnetlink(7)).
    package convenience init(groups: [rtnetlink_groups]) throws(NetlinkError) {
        try self.init(family: NETLINK_ROUTE, groups: groups.map(\.rawValue))
    }

    /// - Parameters:
    ///   - family: `NETLINK_ROUTE`, `NETLINK_NETFILTER` and the like (netlink(7)).
    ///   - groups: of that family, by their numbers.
    package init(family: Int32, groups: [UInt32]) throws(NetlinkError) {
        do throws(SystemError) {
            let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let owned = OwnedDescriptor(
                adopting: try check("socket(AF_NETLINK)") { socket(AF_NETLINK, kind, family) }
            )
            let raw = owned.raw
            // Without an address of its own the kernel takes the socket for the sender of what it tells, and leaves it out.
            var name = sockaddr_nl()
            name.nl_family = sa_family_t(AF_NETLINK)
            try check("bind(AF_NETLINK)") {
                unsafe withUnsafePointer(to: &name) {
                    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        unsafe bind(raw, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
                    }
                }
            }
            for group in groups {
                var number = group
                try check("setsockopt(NETLINK_ADD_MEMBERSHIP)") {
                    unsafe setsockopt(raw, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, 4)
                }
            }
            descriptor = SharedDescriptor(owned)
        } catch {
            throw .socket(error)
        }
    }

    /// The next messages; nil when there are none now.
    ///
    /// - Throws: `socket` with ENOBUFS when so much happened that some was lost: read the tables anew.
    package func receive() throws(NetlinkError) -> [NetlinkMessage]? {
        try buffer.withLock { (buffer) throws(NetlinkError) in
            let raw = descriptor.raw
            let count: Int
            do throws(SystemError) {
                count = try check("recv(AF_NETLINK)") {
                    unsafe recv(raw, &buffer, buffer.count, Int32(MSG_TRUNC))
                }
            } catch {
                guard error.code == EAGAIN else { throw .socket(error) }
                return nil
            }
            guard count <= buffer.count else { throw .malformed("a datagram of \(count) bytes") }
            return try NetlinkMessage.split(Array(buffer[..<count]))
        }
    }
}
