import NetworkTypes

/// What must stand in the kernel for some settings, worked out without touching it.
struct NetworkPlan: Hashable, Sendable {
    /// What is known of the machine, read before.
    struct Facts: Hashable, Sendable {
        var mtu: Int
        var ipv6: IPv6State
        /// Whether packets are dropped whose sender is routed elsewhere.
        var hasStrictReversePathFilter: Bool
        /// The table and the first rule priority that the tunnel has or may take.
        var ownTable: UInt32
        var rulePriority: UInt32
        /// Networks of the tunnel's addresses whose route somebody took away; the kernel makes it with the address alone.
        var unroutedNetworks: Set<IPPrefix> = []
    }

    var addresses: [InterfaceAddress] = []
    /// In the order in which to add them: what catches all else first, so that nothing passes it by meanwhile.
    var routes: [Route] = []
    var rules: [RoutingRule] = []
    var notes: [NetworkNote] = []
    /// The prefixes that lead into the tunnel by routes of ours.
    var prefixes: [IPPrefix] = []
    /// Those that the kernel's own route to an address's network leads into the tunnel.
    var covered: [IPPrefix] = []

    /// - Throws: `ipv6Unavailable` when nothing would be left without IPv6.
    init(_ settings: TunnelNetworkSettings, _ facts: Facts) throws(NetworkSettingsError) {
        let usable = try NetworkPlan.usable(settings, facts, &notes)
        let diverted = NetworkPlan.diverted(settings, usable.addresses, usable.routes)
        for address in usable.addresses {
            // The kernel's own route to the address's network would catch the outer packets to an endpoint in it.
            let holdsEndpoint = diverted.contains(address.network)
            addresses.append(
                InterfaceAddress(
                    interface: settings.interface.index,
                    prefix: address,
                    withoutPrefixRoute: holdsEndpoint
                )
            )
        }
        let connected = usable.addresses.filter { !diverted.contains($0.network) }
        for prefix in diverted { addDiverted(prefix, settings, facts) }
        let table: UInt32
        switch settings.table {
        case .automatic: table = Route.mainTable
        case .number(let number): table = number
        case .off: return
        }
        // In place of the kernel's own.
        for network in Set(connected.map(\.network)).intersection(facts.unroutedNetworks).sorted() {
            routes.append(Route(to: network, interface: settings.interface.index))
        }
        prefixes = diverted
        for prefix in usable.routes where !diverted.contains(prefix) {
            // As everybody's tools do: what the address's own network already covers needs no route.
            let isCovered = connected.contains { $0.length <= prefix.length && $0.contains(prefix.address) }
            if isCovered && table == Route.mainTable {
                covered.append(prefix)
                continue
            }
            routes.append(Route(to: prefix, interface: settings.interface.index, table: table))
            prefixes.append(prefix)
        }
        if facts.hasStrictReversePathFilter, let port = settings.outerPort, settings.table == .automatic {
            rules.append(
                RoutingRule(
                    to: .allIPv4,
                    priority: Ownership.exemptionPriority,
                    table: Route.mainTable,
                    condition: .fromOuterPort(port)
                )
            )
        }
    }

    /// Routes a prefix by a table of the tunnel's own, from which the outer packets are kept away.
    ///
    /// First the main table, but only what is more specific than the prefix (the local network, for one); then, for all
    /// packets without our mark, the tunnel's table. There an unreachable route stands behind the tunnel's, so that
    /// nothing leaks while the link is down or gone.
    private mutating func addDiverted(_ prefix: IPPrefix, _ settings: TunnelNetworkSettings, _ facts: Facts) {
        routes.append(Route(unreachable: prefix, table: facts.ownTable))
        routes.append(Route(to: prefix, interface: settings.interface.index, table: facts.ownTable))
        let first = facts.rulePriority + (prefix.length == 0 ? 2 : 0)
        rules.append(
            RoutingRule(
                to: prefix,
                priority: first,
                table: Route.mainTable,
                suppressPrefixLength: UInt32(prefix.length)
            )
        )
        rules.append(
            RoutingRule(to: prefix, priority: first + 1, table: facts.ownTable, condition: .withoutOuterMark)
        )
    }

    /// The prefixes whose routes must not stand in the main table: each default, and what holds an endpoint.
    ///
    /// The longest come first, so that of two rules for nested prefixes the right one is looked at first.
    private static func diverted(
        _ settings: TunnelNetworkSettings,
        _ addresses: [IPPrefix],
        _ routes: [IPPrefix]
    ) -> [IPPrefix] {
        guard settings.table == .automatic else { return [] }
        let own = addresses.map(\.network).filter { $0.length < $0.address.bitCount }
        let holding = (routes + own).filter { prefix in
            settings.endpoints.contains { prefix.contains($0.address) }
        }
        let defaults = routes.filter { $0.length == 0 }
        return Set(holding + defaults).sorted { ($1.length, $0.address) < ($0.length, $1.address) }
    }

    /// Addresses and routes without doubles, and without IPv6 where it can't be had.
    private static func usable(
        _ settings: TunnelNetworkSettings,
        _ facts: Facts,
        _ notes: inout [NetworkNote]
    ) throws(NetworkSettingsError) -> (addresses: [IPPrefix], routes: [IPPrefix]) {
        let addresses = settings.addresses.withoutDoubles()
        let routes = settings.routes.map(\.network).withoutDoubles()
        let all = addresses + routes
        guard all.contains(where: \.address.isIPv6), let obstacle = obstacle(facts) else { return (addresses, routes) }
        let needed = addresses.isEmpty ? routes : addresses
        guard needed.contains(where: { !$0.address.isIPv6 }) else {
            throw NetworkSettingsError(
                .ipv6Unavailable,
                "Cannot give \(settings.interface.name) an IPv6 address.",
                why: obstacle.text,
                remedy: obstacle.code == .mtuBelowIPv6
                    ? "State an MTU of 1280 or more in the configuration."
                    : "Switch IPv6 on (sysctl net.ipv6.conf.all.disable_ipv6=0), or add an IPv4 address."
            )
        }
        let left = all.filter(\.address.isIPv6).map(\.description).joined(separator: ", ")
        notes.append(NetworkNote(obstacle.code, "\(obstacle.text) Left out: \(left)."))
        return (addresses.filter { !$0.address.isIPv6 }, routes.filter { !$0.address.isIPv6 })
    }

    private static func obstacle(_ facts: Facts) -> NetworkNote? {
        switch facts.ipv6 {
        case .notInKernel: NetworkNote(.ipv6Disabled, "The kernel has no IPv6.")
        case .disabled: NetworkNote(.ipv6Disabled, "IPv6 is disabled on this host (net.ipv6.conf.all.disable_ipv6).")
        case .disabledOnLink:
            NetworkNote(.ipv6Disabled, "IPv6 is disabled on the interface and can't be switched on.")
        case .usable:
            facts.mtu >= TunnelMTU.minimumForIPv6
                ? nil : NetworkNote(.mtuBelowIPv6, "IPv6 needs an MTU of 1280 and the tunnel's is \(facts.mtu).")
        }
    }
}

extension Array where Element: Hashable {
    fileprivate func withoutDoubles() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
