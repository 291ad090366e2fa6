package import Netlink
import NetworkTypes

/// A way out of this machine: the default route of a family.
package struct DefaultPath: Hashable, Sendable {
    /// The name of the link that it goes by.
    package let interface: String
    package let path: TunnelMTU.Path

    package init(interface: String, path: TunnelMTU.Path) {
        self.interface = interface
        self.path = path
    }
}

extension HostNetwork {
    /// The default routes of the main table, the preferred one of each family; none of a family that has no way out.
    package nonisolated func defaultPaths() async throws(NetlinkError) -> [DefaultPath] { try reader.defaultPaths() }
}

extension KernelTables {
    func defaultPaths() throws(NetlinkError) -> [DefaultPath] {
        let all = try DefaultRoute.all(socket)
        var paths: [DefaultPath] = []
        for isIPv6 in [false, true] {
            for route in all where route.isIPv6 == isIPv6 {
                guard let link = try link(index: route.interface), !link.isLoopback else { continue }
                paths.append(DefaultPath(interface: link.name, path: TunnelMTU.Path(mtu: link.mtu, isIPv6: isIPv6)))
                break
            }
        }
        return paths
    }
}
