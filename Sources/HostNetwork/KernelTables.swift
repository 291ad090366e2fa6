import CShims
import Glibc
package import Netlink
import NetworkTypes

/// Links, addresses, routes and rules of the kernel in our own types.
package struct KernelTables: Sendable {
    package let socket: any NetlinkSocket

    package init(socket: any NetlinkSocket) { self.socket = socket }

    /// - Returns: nil if there is no link of that index.
    package func link(index: UInt32) throws(NetlinkError) -> Link? { try link(Link.get(index: index)) }

    /// - Returns: nil if there is no link of that name.
    package func link(named name: String) throws(NetlinkError) -> Link? { try link(Link.get(name: name)) }

    package func links() throws(NetlinkError) -> [Link] {
        let request = NetlinkRequest(RTM_GETLINK) { $0.header(ifinfomsg(index: 0)) }
        return try socket.dump(request).map { (message) throws(NetlinkError) in try Link(message) }
    }

    package func addresses(of interface: UInt32) throws(NetlinkError) -> [InterfaceAddress] {
        try readAddresses(InterfaceAddress.dump(interface: interface)).filter { $0.interface == interface }
    }

    /// Those of all links.
    package func addresses() throws(NetlinkError) -> [InterfaceAddress] {
        try readAddresses(InterfaceAddress.dump(interface: 0))
    }

    private func readAddresses(_ request: NetlinkRequest) throws(NetlinkError) -> [InterfaceAddress] {
        let all = try socket.dump(request).map { (message) throws(NetlinkError) in try InterfaceAddress(message) }
        return all.compactMap { $0 }
    }

    /// The routes that the filter lets through; none where the table doesn't exist or the family is not in the kernel.
    package func routes(_ filter: KernelRoute.Filter) throws(NetlinkError) -> [KernelRoute] {
        let messages: [NetlinkMessage]
        do throws(NetlinkError) {
            messages = try socket.dump(KernelRoute.dump(filter))
        } catch {
            guard [ENOENT, EAFNOSUPPORT, EOPNOTSUPP].contains(error.code) else { throw error }
            return []
        }
        // A kernel without strict checking (below 4.20), or without the family, shows other routes too.
        return try messages.map { (message) throws(NetlinkError) in try KernelRoute(message) }
            .compactMap { $0 }
            .filter { found in
                !found.isCloned && found.route.destination.address.isIPv6 == filter.isIPv6
                    && (filter.table ?? found.route.table) == found.route.table
                    && (filter.owner ?? found.owner) == found.owner
                    && (filter.interface ?? found.route.interface) == found.route.interface
            }
    }

    /// All rules of a family; none where the family is not in the kernel.
    package func rules(isIPv6: Bool) throws(NetlinkError) -> [KernelRule] {
        do throws(NetlinkError) {
            return try socket.dump(RoutingRule.dump(isIPv6: isIPv6)).map { (message) throws(NetlinkError) in
                try KernelRule(message)
            }
        } catch {
            guard [EAFNOSUPPORT, EOPNOTSUPP].contains(error.code) else { throw error }
            return []
        }
    }

    package func send(_ request: NetlinkRequest) throws(NetlinkError) { _ = try socket.request(request) }

    private func link(_ request: NetlinkRequest) throws(NetlinkError) -> Link? {
        do throws(NetlinkError) {
            guard let message = try socket.request(request).first else { return nil }
            return try Link(message)
        } catch {
            guard error.code == ENODEV else { throw error }
            return nil
        }
    }
}
