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
        /// Whether IPv6 addresses can have labels of ours.
        var hasAddressLabels = false
        /// Whether the tunnel that this one is nested in carries IPv6.
        var isIPv6Outside = true
        /// Endpoints to which the kernel would send with a tunnel's address as the source.
        var withoutSource: [IPAddress] = []
        /// Networks of the tunnel's addresses whose route somebody took away; the kernel makes it with the address alone.
        var unroutedNetworks: Set<IPPrefix> = []
        /// What the machine is attached to, where the policy asks for it: all networks, and those that count as local.
        var attached: [IPPrefix] = []
        var local: [IPPrefix] = []
    }

    var addresses: [InterfaceAddress] = []
    /// In the order in which to add them: what catches all else first, so that nothing passes it by meanwhile.
    var routes: [Route] = []
    var rules: [RoutingRule] = []
    var labels: [AddressLabel] = []
    var notes: [NetworkNote] = []
    /// The prefixes that lead into the tunnel by routes of ours.
    var prefixes: [IPPrefix] = []
    /// Those that the kernel's own route to an address's network leads into the tunnel.
    var covered: [IPPrefix] = []

    /// - Throws: `ipv6Unavailable` when nothing would be left without IPv6.
    init(_ settings: TunnelNetworkSettings, _ facts: Facts) throws(NetworkSettingsError) {
        let usable = try NetworkPlan.usable(settings, facts, &notes)
        let isAutomatic = settings.table == .automatic
        let exceptions = isAutomatic ? NetworkExceptions(settings, usable.routes, facts) : NetworkExceptions()
        let diverted = NetworkPlan.diverted(settings, usable.addresses, usable.routes, exceptions)
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
        if facts.hasAddressLabels { labels = addresses.compactMap(\.label) }
        let connected = usable.addresses.filter { !diverted.contains($0.network) }
        for prefix in diverted { addDiverted(prefix, leadsIn: true, settings, facts) }
        if isAutomatic, settings.policy.includesAll {
            for prefix in [IPPrefix.allIPv4, .allIPv6] where !diverted.contains(prefix) {
                // What the tunnel can't carry mustn't go anywhere else.
                guard prefix == .allIPv4 || facts.ipv6 != .notInKernel else { continue }
                addDiverted(prefix, leadsIn: false, settings, facts)
            }
        }
        // They come before what they are exceptions from.
        let families = Set(rules.map(\.destination.address.isIPv6))
        rules = exceptions.rules(of: families, diverted, settings, facts) + rules
        if let port = settings.outerPort, !settings.passage.isOutside { addPassage(settings, port, facts) }
        if isAutomatic, let port = settings.outerPort {
            for address in facts.withoutSource.withoutDoubles() {
                guard let endpoint = IPPrefix(address, length: address.bitCount) else { continue }
                rules.append(
                    RoutingRule(
                        to: endpoint,
                        priority: Ownership.confinementPriority,
                        table: RoutingRule.nowhere,
                        condition: .outerPackets(fromPort: port)
                    )
                )
            }
        }
        let table: UInt32
        if !isAutomatic { noteUselessPolicy(settings) }
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
    /// First, unless the tunnel's routes are to be enforced, the main table, but only what is more specific than the prefix
    /// (the local network, for one); then, for all packets without our mark, the tunnel's table. There an unreachable route
    /// stands behind the tunnel's, so that nothing leaks while the link is down or gone.
    private mutating func addDiverted(
        _ prefix: IPPrefix,
        leadsIn: Bool,
        _ settings: TunnelNetworkSettings,
        _ facts: Facts
    ) {
        routes.append(Route(unreachable: prefix, table: facts.ownTable))
        if leadsIn { routes.append(Route(to: prefix, interface: settings.interface.index, table: facts.ownTable)) }
        let first = facts.rulePriority + (prefix.length == 0 ? 2 : 0)
        if !settings.policy.overridesOthers {
            rules.append(
                RoutingRule(
                    to: prefix,
                    priority: first,
                    table: Route.mainTable,
                    suppressPrefixLength: UInt32(prefix.length)
                )
            )
        }
        rules.append(
            RoutingRule(to: prefix, priority: first + 1, table: facts.ownTable, condition: .withoutOuterMark)
        )
    }

    /// Leads the outer packets, told by their port, into the tunnel that this one is nested in, or nowhere: with its
    /// interface the route goes, and what is behind stays.
    private mutating func addPassage(_ settings: TunnelNetworkSettings, _ port: UInt16, _ facts: Facts) {
        let table = Ownership.passageTable(besides: facts.ownTable)
        for prefix in [IPPrefix.allIPv4, .allIPv6] {
            guard prefix == .allIPv4 || facts.ipv6 != .notInKernel else { continue }
            routes.append(Route(unreachable: prefix, table: table))
            if let interface = settings.passage.interface, prefix == .allIPv4 || facts.isIPv6Outside {
                routes.append(Route(to: prefix, interface: interface, table: table))
            }
            rules.append(
                RoutingRule(
                    to: prefix,
                    priority: Ownership.confinementPriority,
                    table: table,
                    condition: .fromOuterPort(port)
                )
            )
        }
    }

    private mutating func noteUselessPolicy(_ settings: TunnelNetworkSettings) {
        guard settings.policy.followsSurroundings || !settings.excludedRoutes.isEmpty else { return }
        notes.append(
            NetworkNote(
                .policyWithoutRoutes,
                "Table isn't auto, so the routes are others' affair: enforceRoutes, includeAllNetworks, "
                    + "excludeLocalNetworks and excludedRoutes change none."
            )
        )
    }

    /// The prefixes whose routes must not stand in the main table: each default, what holds an endpoint or something
    /// that is excluded, and all of those that are to be enforced.
    ///
    /// The longest come first, so that of two rules for nested prefixes the right one is looked at first.
    private static func diverted(
        _ settings: TunnelNetworkSettings,
        _ addresses: [IPPrefix],
        _ routes: [IPPrefix],
        _ exceptions: NetworkExceptions
    ) -> [IPPrefix] {
        guard settings.table == .automatic else { return [] }
        let own = addresses.map(\.network).filter { $0.length < $0.address.bitCount }
        let excluded = exceptions.excluded + (settings.policy.excludesLocal ? exceptions.local : [])
        let apart = (settings.endpoints + settings.othersEndpoints).map(\.address) + excluded.map(\.address)
        let holding = (routes + own).filter { prefix in apart.contains(where: prefix.contains) }
        let defaults = routes.filter { $0.length == 0 }
        let enforced = settings.policy.overridesOthers ? routes : []
        // A tunnel carries the families that it has addresses of.
        let whole =
            settings.policy.includesAll
            ? Set(addresses.map { $0.address.isIPv6 ? IPPrefix.allIPv6 : .allIPv4 }) : []
        return Set(holding + defaults + enforced).union(whole).sorted {
            ($1.length, $0.address) < ($0.length, $1.address)
        }
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
