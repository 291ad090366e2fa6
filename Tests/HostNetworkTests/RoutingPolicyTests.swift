import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct RoutingPolicyTests {
    private let wg0 = InterfaceIdentity(index: 7, name: "wg0")

    private func plan(
        _ routes: [IPPrefix],
        excluding excluded: [IPPrefix] = [],
        _ policy: RoutingPolicy = RoutingPolicy(),
        addresses: [IPPrefix] = prefixes("10.7.0.2/24"),
        ipv6: IPv6State = .usable,
        table: TunnelNetworkSettings.Table = .automatic
    ) throws -> NetworkPlan {
        var facts = NetworkPlan.Facts(
            mtu: 1420,
            ipv6: ipv6,
            hasStrictReversePathFilter: false,
            ownTable: 77,
            rulePriority: 10_000 + 8 * 100
        )
        facts.attached = prefixes("192.168.1.0/24", "203.0.113.0/24", "fd00:1::/64")
        facts.local = prefixes("192.168.1.0/24", "fd00:1::/64")
        return try NetworkPlan(
            TunnelNetworkSettings(
                interface: wg0,
                addresses: addresses,
                routes: routes,
                excludedRoutes: excluded,
                policy: policy,
                table: table
            ),
            facts
        )
    }

    /// Rules as ip(8) would put them, without the protocol.
    private func texts(_ plan: NetworkPlan) -> [String] {
        plan.rules.map { rule in
            let parts: [String?] = [
                "\(rule.priority):", rule.source.map { "from \($0.wrappedValue)" },
                rule.destination.length > 0 ? "to \(rule.destination)" : rule.destination.address.isIPv6 ? "v6" : "v4",
                rule.inputInterface.map { "iif \($0)" }, rule.condition == .withoutOuterMark ? "unmarked" : nil,
                rule.table == RoutingRule.nowhere ? "unreachable" : rule.table == 77 ? "own" : "main",
                rule.suppressPrefixLength.map { "suppress \($0)" },
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        }
    }

    private func destinations(_ plan: NetworkPlan, in table: UInt32) -> [String] {
        plan.routes.filter { $0.table == table && $0.kind == .unicast }.map(\.destination.description)
    }

    @Test func `what is excluded from a full tunnel is looked up outside, ahead of all tunnels`() throws {
        let plan = try plan(prefixes("0.0.0.0/0"), excluding: prefixes("198.51.100.7/24"))
        #expect(
            texts(plan) == [
                "2301: to 198.51.100.0/24 main", "2302: to 198.51.100.0/24 unreachable", "10802: v4 main suppress 0",
                "10803: v4 unmarked own",
            ]
        )
    }

    @Test func `what holds something excluded leaves the main table, and what lies in it stays in the tunnel`() throws {
        let plan = try plan(
            prefixes("10.0.0.0/8", "10.1.2.0/24", "172.16.0.0/12"),
            excluding: prefixes("10.1.0.0/16", "10.1.2.128/25")
        )
        #expect(destinations(plan, in: Route.mainTable) == ["172.16.0.0/12"])
        #expect(destinations(plan, in: 77) == ["10.1.2.0/24", "10.0.0.0/8"])
        #expect(
            Set(texts(plan)).isSuperset(of: [
                "2300: to 10.1.2.0/24 unmarked own", "2301: to 10.1.0.0/16 main", "2301: to 10.1.2.128/25 main",
                "10800: to 10.0.0.0/8 main suppress 8", "10801: to 10.0.0.0/8 unmarked own",
            ])
        )
        #expect(plan.rules.count == 1 + 4 + 4)
    }

    @Test func `enforced routes are looked up before the main table, but for the local networks`() throws {
        let enforced = RoutingPolicy(enforcesRoutes: true)
        let whole = try plan(prefixes("0.0.0.0/0"), enforced)
        #expect(
            Set(texts(whole)) == [
                "2301: to 192.168.1.0/24 main suppress 0",
                "2300: from 192.168.1.0/24 to 192.168.1.0/24 main suppress 0",
                "2300: from 203.0.113.0/24 to 203.0.113.0/24 main suppress 0", "2300: v4 iif wg0 main suppress 0",
                "10803: v4 unmarked own",
            ]
        )
        // A prefix that it names is its own, whatever is attached.
        let split = try plan(prefixes("192.168.0.0/16", "10.9.0.0/16"), enforced)
        #expect(destinations(split, in: Route.mainTable).isEmpty)
        #expect(!texts(split).contains("2301: to 192.168.1.0/24 main suppress 0"))
        #expect(
            Set(texts(split)).isSuperset(of: [
                "10801: to 10.9.0.0/16 unmarked own", "10801: to 192.168.0.0/16 unmarked own",
            ])
        )
        let excluding = try plan(
            prefixes("192.168.0.0/16"),
            RoutingPolicy(enforcesRoutes: true, excludesLocal: true)
        )
        #expect(texts(excluding).contains("2301: to 192.168.1.0/24 main suppress 0"))
    }

    @Test func `all networks are those of both families, or nowhere`() throws {
        let plan = try plan(prefixes("10.9.0.0/16"), RoutingPolicy(includesAll: true))
        #expect(destinations(plan, in: 77) == ["10.9.0.0/16", "0.0.0.0/0"])
        let barriers = plan.routes.filter { $0.kind == .unreachable }.map(\.destination)
        #expect(barriers == prefixes("10.9.0.0/16", "0.0.0.0/0", "::/0"))
        #expect(plan.prefixes == prefixes("10.9.0.0/16", "0.0.0.0/0"))
        #expect(
            Set(texts(plan)).isSuperset(of: [
                "10803: v4 unmarked own", "10803: v6 unmarked own", "2300: to fe80::/10 main suppress 0",
                "2300: v6 iif wg0 main suppress 0", "2300: from fd00:1::/64 to fd00:1::/64 main suppress 0",
            ])
        )
        #expect(!texts(plan).contains { $0.hasPrefix("2301: to 192.168") || $0.contains("suppress 8") })
        #expect(
            try self.plan([], RoutingPolicy(includesAll: true), ipv6: .notInKernel).rules
                .allSatisfy { !$0.destination.address.isIPv6 }
        )
        let dual = try self.plan([], RoutingPolicy(includesAll: true), addresses: prefixes("10.7.0.2/24", "fd07::2/64"))
        #expect(destinations(dual, in: 77) == ["0.0.0.0/0", "::/0"])
    }

    @Test func `local networks are left out of all, with what is sent to everybody there`() throws {
        let plan = try plan([], RoutingPolicy(includesAll: true, excludesLocal: true))
        #expect(
            Set(texts(plan)).isSuperset(of: [
                "2301: to 192.168.1.0/24 main suppress 0", "2301: to fd00:1::/64 main suppress 0",
                "2301: to 224.0.0.0/24 main", "2301: to 239.0.0.0/8 main", "2301: to 255.255.255.255/32 main",
            ])
        )
        #expect(!texts(plan).contains { $0.contains("2301: to 203.0.113.0/24") })
    }

    @Test func `exceptions stand before what they are exceptions from`() throws {
        let plan = try plan(
            prefixes("0.0.0.0/0", "::/0"),
            excluding: prefixes("198.51.100.0/24"),
            RoutingPolicy(enforcesRoutes: true, excludesLocal: true)
        )
        let priorities = plan.rules.map(\.priority)
        #expect(priorities.lastIndex { $0 < 10_000 } ?? .max < priorities.firstIndex { $0 >= 10_000 } ?? 0)
        #expect(Set(plan.rules).count == plan.rules.count)
    }

    @Test(arguments: [TunnelNetworkSettings.Table.off, .number(99)])
    func `without routes of ours none of it does anything, and that is noted`(table: TunnelNetworkSettings.Table) throws
    {
        let policy = RoutingPolicy(includesAll: true, excludesLocal: true)
        let plan = try plan(prefixes("0.0.0.0/0"), excluding: prefixes("10.0.0.0/8"), policy, table: table)
        #expect(plan.rules.isEmpty)
        #expect(plan.notes.map(\.code) == [.policyWithoutRoutes])
    }

    @Test func `a tunnel keeps its place by its exceptions alone, and takes none that are taken`() throws {
        var journal = NetworkJournal()
        journal.rules = [RoutingRule(to: .allIPv4, priority: 2301, table: Route.mainTable)]
        #expect(journal.rulePriority == 10_800)
        let taken = KernelRule(
            priority: 2_000 + 3 * 2499,
            table: 254,
            owner: Ownership.routingProtocol,
            rule: nil
        )
        #expect(try TunnelSlot.freePriority([taken]).priority == 29_984)
    }

    @Test func `the kernel takes all of these rules, tells them as they are, and lets them go`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            space.ip("addr add 192.168.1.5/24 dev under0")
            space.ip("addr add fd00:1::5/64 dev under0 nodad")
            let before = space.snapshot()
            let interface = try space.makeTun("tpol0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            for policy in [
                RoutingPolicy(enforcesRoutes: true), RoutingPolicy(), RoutingPolicy(includesAll: true),
                RoutingPolicy(includesAll: true, excludesLocal: true), RoutingPolicy(excludesLocal: true),
                RoutingPolicy(),
            ] {
                let settings = TunnelNetworkSettings(
                    interface: interface,
                    addresses: prefixes("10.7.0.2/24", "fd07::2/64"),
                    routes: prefixes("0.0.0.0/0", "::/0", "10.1.0.0/16"),
                    excludedRoutes: prefixes("10.0.0.0/8", "fd00:9::/32"),
                    policy: policy
                )
                _ = try applier.apply(settings, journal: &journal) { _ in }
                let ours = try [false, true].flatMap { try space.tables.rules(isIPv6: $0) }.filter(\.isOurs)
                #expect(Set(ours.compactMap(\.rule)) == Set(journal.rules))
                #expect(ours.count == journal.rules.count)
                #expect(try space.tables.missing(of: journal, routes: settings.routes).isEmpty)
                let applied = space.ip("rule") + space.ip("-6 rule")
                _ = try applier.apply(settings, journal: &journal) { _ in }
                #expect(space.ip("rule") + space.ip("-6 rule") == applied)
            }
            #expect(applier.revert(&journal).isComplete)
            #expect(space.snapshot() == before)
        }
    }
}
