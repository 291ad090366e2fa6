import NetworkTypes

/// What a tunnel leaves to others although its routes hold it, and the rules for that, which stand ahead of all tunnels.
///
/// They are rules, for a route that says "look elsewhere" in the tunnel's own table would have the next full tunnel take
/// the packet.
struct NetworkExceptions: Hashable, Sendable {
    /// What the configuration excludes.
    private(set) var excluded: [IPPrefix] = []
    /// Local networks that are reached directly.
    private(set) var local: [IPPrefix] = []

    /// None.
    init() {}

    /// - Parameter routes: what goes into the tunnel.
    init(_ settings: TunnelNetworkSettings, _ routes: [IPPrefix], _ facts: NetworkPlan.Facts) {
        excluded = Set(settings.excludedRoutes.map(\.network)).sorted()
        if facts.ipv6 == .notInKernel { excluded.removeAll { $0.address.isIPv6 } }
        if settings.policy.excludesLocal {
            local = facts.local
        } else if settings.policy.enforcesRoutes, !settings.policy.includesAll {
            // What is enforced is what the tunnel names; "all" doesn't name the network at hand.
            let named = routes.filter { $0.length > 0 }
            local = facts.local.filter { network in
                !named.contains { $0.length <= network.length && $0.contains(network.address) }
            }
        }
    }

    /// The rules, in no order.
    ///
    /// - Parameters:
    ///   - families: those (isIPv6) that have rules leading into the tunnel.
    ///   - diverted: the prefixes with such rules.
    func rules(
        of families: Set<Bool>,
        _ diverted: [IPPrefix],
        _ settings: TunnelNetworkSettings,
        _ facts: NetworkPlan.Facts
    ) -> [RoutingRule] {
        let first = Ownership.firstException(ofRulesAt: facts.rulePriority)
        var rules: [RoutingRule] = []
        for prefix in excluded {
            // What is more specific is in the tunnel all the same.
            for inner in diverted where inner.length > prefix.length && prefix.contains(inner.address) {
                rules.append(
                    RoutingRule(to: inner, priority: first, table: facts.ownTable, condition: .withoutOuterMark)
                )
            }
            for part in Self.parts(of: prefix) {
                rules.append(RoutingRule(to: part, priority: first + 1, table: Route.mainTable))
                // Where there is no way outside, the tunnel isn't one either.
                rules.append(RoutingRule(to: part, priority: first + 2, table: RoutingRule.nowhere))
            }
        }
        rules += local.filter { families.contains($0.address.isIPv6) && !excluded.contains($0) }.map {
            Self.direct(to: $0, first + 1)
        }
        if settings.policy.excludesLocal, families.contains(false) {
            // IPv6 has its groups in the local table.
            rules += LocalNetworks.groups.filter { !$0.address.isIPv6 }.map {
                RoutingRule(to: $0, priority: first + 1, table: Route.mainTable)
            }
        }
        guard settings.policy.overridesOthers else { return rules.withoutDoubles() }
        // With nothing looked up in the main table first, these would be answered into the tunnel: what others of an
        // attached network send (an ARP request too is checked by the way back to who sent it, where the reverse-path
        // filter is strict), and what comes out of the tunnel for machines behind this one. What is local to a link can't
        // be anywhere else. These have a priority of their own: the kernel takes a rule without a source for the same as
        // one with any (`fib4_rule_compare`), when it is added and when it is deleted.
        for network in facts.attached where families.contains(network.address.isIPv6) {
            rules.append(Self.direct(to: network, from: network, first))
        }
        for isIPv6 in families.sorted(by: { !$0 && $1 }) {
            rules.append(Self.direct(to: isIPv6 ? .allIPv6 : .allIPv4, by: settings.interface.name, first))
        }
        if families.contains(true), let linkLocal = IPPrefix("fe80::/10") {
            rules.append(Self.direct(to: linkLocal, first))
        }
        return rules.withoutDoubles()
    }

    /// All of a family in halves: the kernel takes a rule without a destination for the same as one of its priority that has
    /// any (`fib4_rule_compare`), when it is added and when it is deleted.
    private static func parts(of prefix: IPPrefix) -> [IPPrefix] {
        guard prefix.length == 0 else { return [prefix] }
        let texts = prefix.address.isIPv6 ? ["::/1", "8000::/1"] : ["0.0.0.0/1", "128.0.0.0/1"]
        return texts.compactMap { IPPrefix($0) }
    }

    /// By a route of the main table that is no default.
    private static func direct(
        to prefix: IPPrefix,
        from source: IPPrefix? = nil,
        by interface: String? = nil,
        _ priority: UInt32
    ) -> RoutingRule {
        RoutingRule(
            to: prefix,
            from: source,
            by: interface,
            priority: priority,
            table: Route.mainTable,
            suppressPrefixLength: 0
        )
    }
}
