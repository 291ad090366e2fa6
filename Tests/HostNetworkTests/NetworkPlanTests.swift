import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NetworkPlanTests {
    private let facts = NetworkPlan.Facts(
        mtu: 1420,
        ipv6: .usable,
        hasStrictReversePathFilter: false,
        ownTable: 77,
        rulePriority: 20_000
    )
    private let wg0 = InterfaceIdentity(index: 7, name: "wg0")

    @Test func `a split tunnel's routes stand in the main table, without what its address covers`() throws {
        let settings = TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("10.7.0.2/24"),
            routes: prefixes("10.7.0.0/24", "10.7.0.5/32", "10.8.1.2/16", "10.8.0.0/16", "fd00::/8")
        )
        let plan = try NetworkPlan(settings, facts)
        #expect(plan.routes.map(\.destination) == prefixes("10.8.0.0/16", "fd00::/8"))
        #expect(plan.covered == prefixes("10.7.0.0/24", "10.7.0.5/32"))
        #expect(plan.routes.allSatisfy { $0.table == Route.mainTable && $0.interface == 7 })
        #expect(plan.rules.isEmpty)
    }

    @Test func `a default route and its unreachable shadow stand in the own table, behind two rules`() throws {
        let settings = TunnelNetworkSettings(interface: wg0, routes: prefixes("0.0.0.0/0", "10.9.0.0/16"))
        let plan = try NetworkPlan(settings, facts)
        #expect(
            plan.routes == [
                Route(unreachable: .allIPv4, table: 77), Route(to: .allIPv4, interface: 7, table: 77),
                Route(to: prefixes("10.9.0.0/16")[0], interface: 7),
            ]
        )
        #expect(
            plan.rules == [
                RoutingRule(to: .allIPv4, priority: 20_002, table: Route.mainTable, suppressPrefixLength: 0),
                RoutingRule(to: .allIPv4, priority: 20_003, table: 77, condition: .withoutOuterMark),
            ]
        )
    }

    @Test func `a prefix that holds an endpoint is kept out of the main table`() throws {
        let settings = TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("10.7.0.2/24"),
            routes: prefixes("192.0.2.0/24", "198.51.100.0/24"),
            endpoints: [try #require(Endpoint("192.0.2.9:51820")), try #require(Endpoint("10.7.0.1:51820"))]
        )
        let plan = try NetworkPlan(settings, facts)
        #expect(plan.addresses.map(\.withoutPrefixRoute) == [true])
        #expect(plan.routes.filter { $0.table == Route.mainTable }.map(\.destination) == prefixes("198.51.100.0/24"))
        let own = plan.routes.filter { $0.table == 77 && $0.kind == .unicast }
        #expect(own.map(\.destination) == prefixes("10.7.0.0/24", "192.0.2.0/24"))
        #expect(plan.rules.map(\.priority) == [20_000, 20_001, 20_000, 20_001])
        #expect(plan.rules[0].suppressPrefixLength == 24)
        #expect(plan.rules[1].destination == prefixes("10.7.0.0/24")[0])
    }

    @Test func `a table of one's own choice takes all routes and no rule, off takes none`() throws {
        var settings = TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("10.7.0.2/24"),
            routes: prefixes("0.0.0.0/0", "10.7.0.0/24"),
            table: .number(500),
            outerPort: 51820
        )
        var strict = facts
        strict.hasStrictReversePathFilter = true
        var plan = try NetworkPlan(settings, strict)
        #expect(plan.routes.map(\.table) == [500, 500])
        #expect(plan.rules.isEmpty)
        settings.table = .off
        plan = try NetworkPlan(settings, strict)
        #expect(plan.routes.isEmpty && plan.rules.isEmpty && plan.addresses.count == 1)
    }

    @Test func `under a strict reverse-path filter the outer port passes all tunnels`() throws {
        var strict = facts
        strict.hasStrictReversePathFilter = true
        let settings = TunnelNetworkSettings(interface: wg0, routes: prefixes("0.0.0.0/0"), outerPort: 51820)
        let rule = RoutingRule(
            to: .allIPv4,
            priority: 9_900,
            table: Route.mainTable,
            condition: .fromOuterPort(51820)
        )
        #expect(try NetworkPlan(settings, strict).rules.contains(rule))
        #expect(try !NetworkPlan(settings, facts).rules.contains(rule))
    }

    @Test(arguments: [IPv6State.disabled, .notInKernel, .disabledOnLink])
    func `without IPv6 a tunnel with IPv4 goes on, with a note`(state: IPv6State) throws {
        var facts = facts
        facts.ipv6 = state
        let settings = TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("10.7.0.2/24", "fd00::2/64"),
            routes: prefixes("0.0.0.0/0", "::/0")
        )
        let plan = try NetworkPlan(settings, facts)
        #expect(plan.addresses.map(\.prefix) == prefixes("10.7.0.2/24"))
        #expect(plan.prefixes == [.allIPv4])
        #expect(plan.notes.map(\.code) == [.ipv6Disabled])
        #expect(plan.notes[0].text.contains("fd00::2/64"))
        #expect(plan.notes[0].text.contains("::/0"))

        let onlyIPv6 = TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("fd00::2/64"),
            routes: prefixes("0.0.0.0/0", "::/0")
        )
        do throws(NetworkSettingsError) {
            _ = try NetworkPlan(onlyIPv6, facts)
            Issue.record("went on without any address")
        } catch {
            #expect(error.code == .ipv6Unavailable)
            #expect(error.why?.contains("IPv6") == true)
        }
    }

    @Test func `below an MTU of 1280 there is no IPv6 inside`() throws {
        var facts = facts
        let settings = TunnelNetworkSettings(interface: wg0, addresses: prefixes("10.7.0.2/24", "fd00::2/64"))
        facts.mtu = 1280
        #expect(try NetworkPlan(settings, facts).notes.isEmpty)
        facts.mtu = 1279
        let plan = try NetworkPlan(settings, facts)
        #expect(plan.notes.map(\.code) == [.mtuBelowIPv6])
        #expect(plan.addresses.count == 1)
    }
}

@Suite struct TunnelMTUTests {
    @Test(arguments: [
        (1500, false, 1440), (1500, true, 1420), (1400, false, 1340), (1300, true, 1220), (9000, false, 8940),
        (576, false, 516), (65_535, false, 65_472), (65_536, true, 65_456),
    ])
    func `the MTU is that of the path without what wraps the packet`(path: Int, isIPv6: Bool, mtu: Int) throws {
        let decided = try TunnelMTU.decide(explicit: nil, paths: [TunnelMTU.Path(mtu: path, isIPv6: isIPv6)])
        #expect(decided.mtu == mtu)
        #expect(decided.note == nil)
    }

    @Test func `of several paths the narrowest counts, without one 1420`() {
        #expect(TunnelMTU.automatic([.init(mtu: 1500, isIPv6: false), .init(mtu: 1450, isIPv6: true)]) == 1370)
        #expect(TunnelMTU.automatic([]) == 1420)
        let path = TunnelMTU.Path(mtu: 1500, isIPv6: false)
        #expect([nil, 1280, 9000].map { TunnelMTU.automatic([path.limited(to: $0)]) } == [1440, 1220, 1440])
    }

    @Test(arguments: [68, 100, 1280, 9000])
    func `an explicit MTU wins`(mtu: Int) throws {
        #expect(try TunnelMTU.decide(explicit: mtu, paths: [.init(mtu: 1500, isIPv6: false)]).mtu == mtu)
    }

    @Test func `an MTU that doesn't fit a datagram is cut down with a note`() throws {
        let decided = try TunnelMTU.decide(explicit: 65_535, paths: [])
        #expect(decided.mtu == 65_472)
        #expect(decided.note?.code == .mtuCapped)
    }

    @Test(arguments: [Int.min, -1, 0, 67, 65_536, 70_000, Int.max])
    func `an MTU that no link can have is an error that names it`(mtu: Int) {
        do throws(NetworkSettingsError) {
            _ = try TunnelMTU.decide(explicit: mtu, paths: [])
            Issue.record("accepted")
        } catch {
            #expect(error.code == .invalidMTU)
            #expect(error.what.contains("\(mtu)"))
        }
    }

    @Test(arguments: [0, 127])
    func `a path that leaves no room for a packet is an error`(path: Int) {
        #expect(throws: NetworkSettingsError.self) {
            try TunnelMTU.decide(explicit: nil, paths: [TunnelMTU.Path(mtu: path, isIPv6: false)])
        }
    }
}
