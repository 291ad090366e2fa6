import Netlink

extension KernelTables {
    func localNetworks(besides tunnels: OwnInterfaces) throws(NetlinkError) -> LocalNetworks {
        LocalNetworks(of: try attachedNetworks(besides: tunnels))
    }

    /// What each link is attached to, whether or not it counts as local.
    func attachedNetworks(besides tunnels: OwnInterfaces) throws(NetlinkError) -> [LocalNetworks.Attached] {
        var routes: [KernelRoute] = []
        for isIPv6 in [false, true] {
            for owner in KernelRoute.ownersOfLinkNetworks {
                routes += try self.routes(.init(isIPv6: isIPv6, table: Route.mainTable, owner: owner))
            }
        }
        return LocalNetworks.attached(
            links: try links(),
            addresses: try addresses(),
            routes: routes,
            isTunnel: tunnels.contains
        )
    }
}
