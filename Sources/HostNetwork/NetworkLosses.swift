package import Netlink
package import NetworkTypes

/// What of the settings in force isn't so any more, by somebody else's doing.
package struct NetworkLosses: Equatable, Sendable {
    package var addresses: [IPPrefix] = []
    /// Prefixes whose routes into the tunnel were removed.
    package var routes: [IPPrefix] = []
    /// Prefixes without the unreachable route that stands behind the tunnel's.
    package var barriers: [IPPrefix] = []
    package var rules: [RoutingRule] = []
    /// Ways of the outer packets into the tunnel around this one.
    package var passages: [IPPrefix] = []
    /// Addresses whose label was removed.
    package var labels: [IPAddress] = []
    /// Prefixes with all their routes and rules, that the kernel sends elsewhere all the same.
    package var diversions: [RouteDiversion] = []
    /// Prefixes that another tunnel of ours carries.
    package var yields: [RouteDiversion] = []

    /// Whether nothing is missing that could be put back.
    package var isEmpty: Bool {
        addresses.isEmpty && routes.isEmpty && barriers.isEmpty && rules.isEmpty && labels.isEmpty
            && passages.isEmpty
    }

    /// Prefixes that don't lead into the tunnel, for whatever reason.
    package var prefixes: Set<IPPrefix> {
        Set(routes).union(rules.filter(\.leadsIntoTunnel).map(\.destination)).union(diversions.map(\.prefix))
    }

    /// Compares what a journal names with what is there.
    ///
    /// - Parameters:
    ///   - covered: prefixes that lead into the tunnel by the kernel's own route to an address's network.
    ///   - routes: everybody's into the interface, in the tables that the journal names and in the main table.
    ///   - rules: everybody's.
    package init(
        of journal: NetworkJournal,
        covered: [IPPrefix] = [],
        addresses: [InterfaceAddress],
        routes: [KernelRoute],
        rules: [KernelRule]
    ) {
        let present = Set(addresses.map(\.prefix))
        self.addresses = journal.addresses.map(\.prefix).filter { !present.contains($0) }
        let ours = Set(routes.filter(\.isOurs).map(\.route))
        let main = routes.map(\.route).filter { $0.table == Route.mainTable && $0.kind == .unicast }.map(\.destination)
        let unicast = journal.routes.filter { $0.kind == .unicast && !ours.contains($0) }
        passages = unicast.filter { Ownership.passageTables.contains($0.table) }.map(\.destination)
        self.routes =
            unicast.filter { !Ownership.passageTables.contains($0.table) }.map(\.destination)
            + covered.filter { prefix in !main.contains { $0.length <= prefix.length && $0.contains(prefix.address) } }
        barriers = journal.routes.filter { $0.kind == .unreachable && !ours.contains($0) }.map(\.destination)
        let known = Set(rules.filter(\.isOurs).compactMap(\.rule))
        self.rules = journal.rules.filter { !known.contains($0) }
    }
}

extension RoutingRule {
    /// Whether it is by this rule that packets come to the tunnel's own table.
    package var leadsIntoTunnel: Bool { condition == .withoutOuterMark }
}

extension HostNetwork {
    /// Looks what of a tunnel's addresses, routes and rules is missing, and which way packets really go.
    ///
    /// - Parameter routes: the prefixes that lead into the tunnel.
    package nonisolated func losses(
        of journal: NetworkJournal,
        routes: [IPPrefix]
    ) async throws(NetlinkError) -> NetworkLosses {
        try reader.losses(of: journal, routes: routes, tunnels: ownInterfaces)
    }

    /// Looks what of a tunnel's addresses, routes and rules is missing; where it can be put back.
    package nonisolated func missing(
        of journal: NetworkJournal,
        routes: [IPPrefix]
    ) async throws(NetlinkError) -> NetworkLosses {
        try reader.missing(of: journal, routes: routes)
    }
}

extension KernelTables {
    func losses(
        of journal: NetworkJournal,
        routes: [IPPrefix],
        tunnels: OwnInterfaces
    ) throws(NetlinkError) -> NetworkLosses {
        var losses = try missing(of: journal, routes: routes)
        guard let interface = journal.interface else { return losses }
        // Into a table of the user's own only rules of their own lead, of which we know nothing.
        let elsewhere = Set(journal.routes.filter(\.isInOthersTable).map(\.destination))
        let known = losses.prefixes.union(elsewhere)
        let diversions = try diversions(
            of: routes.filter { !known.contains($0) },
            from: interface.index,
            tunnels: tunnels
        )
        losses.diversions = diversions.filter { !$0.isIntoTunnel }
        losses.yields = diversions.filter(\.isIntoTunnel)
        return losses
    }

    func missing(of journal: NetworkJournal, routes: [IPPrefix]) throws(NetlinkError) -> NetworkLosses {
        guard let interface = journal.interface else {
            return NetworkLosses(of: journal, addresses: [], routes: [], rules: [])
        }
        let own = Set(journal.routes.filter { !Ownership.passageTables.contains($0.table) }.map(\.destination))
        let covered = routes.filter { !own.contains($0) }
        var filters: Set<KernelRoute.Filter> = []
        for route in journal.routes {
            // What leads nowhere is on no interface.
            let place = Ownership.ownTable(besides: route.table) != nil ? nil : interface.index
            filters.insert(.init(route.destination, table: route.table, interface: place))
        }
        for prefix in covered { filters.insert(.init(prefix, table: Route.mainTable, interface: interface.index)) }
        var present: [KernelRoute] = []
        for filter in filters { present += try self.routes(filter) }
        let labels = journal.labels.isEmpty ? [] : addressLabels()
        var rules: [KernelRule] = []
        if !journal.rules.isEmpty { rules = try self.rules(isIPv6: false) + self.rules(isIPv6: true) }
        var losses = NetworkLosses(
            of: journal,
            covered: covered,
            addresses: try addresses(of: interface.index),
            routes: present,
            rules: rules
        )
        if let labels { losses.labels = journal.labels.filter { !labels.contains($0) }.map(\.address) }
        return losses
    }
}

extension Route {
    fileprivate var isInOthersTable: Bool { table != Self.mainTable && Ownership.ownTable(besides: table) == nil }
}

extension KernelRoute.Filter {
    fileprivate init(_ prefix: IPPrefix, table: UInt32, interface: UInt32?) {
        self.init(isIPv6: prefix.address.isIPv6, table: table, interface: interface)
    }
}
