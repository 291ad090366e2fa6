package import Netlink
package import NetworkTypes

/// What of the settings in force somebody else has taken from the kernel.
package struct NetworkLosses: Equatable, Sendable {
    package var addresses: [IPPrefix] = []
    /// Prefixes that don't lead into the tunnel any more.
    package var routes: [IPPrefix] = []

    /// Compares what a journal names with what is there.
    package init(of journal: NetworkJournal, addresses: [InterfaceAddress], routes: [Route]) {
        let present = Set(addresses.map(\.prefix))
        self.addresses = journal.addresses.map(\.prefix).filter { !present.contains($0) }
        let known = Set(routes)
        self.routes = journal.routes.filter { $0.kind == .unicast && !known.contains($0) }.map(\.destination)
    }
}

extension HostNetwork {
    /// Looks what of a tunnel's addresses and routes is missing.
    package nonisolated func losses(of journal: NetworkJournal) async throws(NetlinkError) -> NetworkLosses {
        guard let interface = journal.interface else { return NetworkLosses(of: journal, addresses: [], routes: []) }
        let addresses = try reader.addresses(of: interface.index)
        var routes: [Route] = []
        for filter in Set(
            journal.routes.map { route in
                KernelRoute.Filter(
                    isIPv6: route.destination.address.isIPv6,
                    table: route.table,
                    owner: Ownership.routingProtocol
                )
            }
        ) {
            routes += try reader.routes(filter).map(\.route)
        }
        return NetworkLosses(of: journal, addresses: addresses, routes: routes)
    }
}
