import HostNetwork
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct AppliedNetworkLossesTests {
    private let applied = AppliedNetwork(
        addresses: ["10.77.0.1/24"],
        routes: ["172.30.0.0/16", "10.77.0.2/32"],
        mtu: 1400,
        notes: ["before"]
    )

    private func journal() throws -> NetworkJournal {
        var journal = NetworkJournal(interface: InterfaceIdentity(index: 7, name: "home-1"))
        journal.addresses = [InterfaceAddress(interface: 7, prefix: try #require(IPPrefix("10.77.0.1/24")))]
        journal.routes = [Route(to: try #require(IPPrefix("172.30.0.0/16")), interface: 7)]
        return journal
    }

    private func losses(_ journal: NetworkJournal, without: String? = nil, rules: [RoutingRule]? = nil) -> NetworkLosses
    {
        var routes = journal.routes.map { KernelRoute($0, owner: Ownership.routingProtocol) }
        // The kernel's own, by the address.
        if let network = journal.addresses.first?.prefix.network {
            routes.append(KernelRoute(Route(to: network, interface: 7), owner: 2))
        }
        routes.removeAll { $0.route.destination.description == without }
        return NetworkLosses(
            of: journal,
            covered: [IPPrefix("10.77.0.2/32")].compactMap { $0 },
            addresses: journal.addresses,
            routes: routes,
            rules: (rules ?? journal.rules).map {
                KernelRule(priority: $0.priority, table: $0.table, owner: Ownership.routingProtocol, rule: $0)
            }
        )
    }

    @Test func `what is all there is shown as it was put in force`() throws {
        let losses = losses(try journal())
        #expect(applied.without(losses, mtu: 1400) == applied)
        #expect(losses.prefixes.isEmpty)
    }

    @Test func `a route that was removed is not shown, and told`() throws {
        let losses = losses(try journal(), without: "172.30.0.0/16")
        let present = applied.without(losses, mtu: 1280)
        #expect(present.routes == ["10.77.0.2/32"] && present.addresses == ["10.77.0.1/24"] && present.mtu == 1280)
        #expect(losses.prefixes.map(\.description) == ["172.30.0.0/16"])
        #expect(
            present.notes == [
                "before", "The route to 172.30.0.0/16 was removed from outside.",
                "The MTU was 1400, and was changed to 1280 from outside.",
            ]
        )
    }

    @Test func `with the route of an address's network goes what it led into the tunnel`() throws {
        let losses = losses(try journal(), without: "10.77.0.0/24")
        let present = applied.without(losses, mtu: 1400)
        #expect(present.addresses == ["10.77.0.1/24"] && present.routes == ["172.30.0.0/16"])
        #expect(present.notes == ["before", "The route to 10.77.0.2/32 was removed from outside."])
    }

    @Test func `with an address goes what led into the tunnel by its network`() throws {
        let journal = try journal()
        let losses = NetworkLosses(
            of: journal,
            covered: [try #require(IPPrefix("10.77.0.2/32"))],
            addresses: [],
            routes: journal.routes.map { KernelRoute($0, owner: Ownership.routingProtocol) },
            rules: []
        )
        let present = applied.without(losses, mtu: 1400)
        #expect(present.addresses.isEmpty && present.routes == ["172.30.0.0/16"])
        #expect(present.notes.contains("The address 10.77.0.1/24 was taken from the interface from outside."))
    }

    @Test func `a rule that was removed is told, and what it led into the tunnel isn't shown`() throws {
        var journal = try journal()
        journal.rules = [
            RoutingRule(to: .allIPv4, priority: 29_994, table: Route.mainTable, suppressPrefixLength: 0),
            RoutingRule(to: .allIPv4, priority: 29_995, table: 0x7475_6e00, condition: .withoutOuterMark),
        ]
        let full = AppliedNetwork(addresses: [], routes: ["0.0.0.0/0"], mtu: 1400, notes: [])
        let both = losses(journal, rules: [])
        #expect(full.without(both, mtu: 1400).routes.isEmpty)
        #expect(
            full.without(both, mtu: 1400).notes == [
                "The routing rule 29994 was removed from outside: networks of other interfaces within 0.0.0.0/0 are not "
                    + "reached directly.",
                "The routing rule 29995 was removed from outside: traffic to 0.0.0.0/0 doesn't go through the tunnel.",
            ]
        )
        // Without the first of them all still goes into the tunnel.
        let first = losses(journal, rules: [journal.rules[1]])
        #expect(full.without(first, mtu: 1400).routes == ["0.0.0.0/0"] && first.prefixes.isEmpty)
    }

    @Test func `whatever of it is missing is put back, each named`() throws {
        var losses = losses(try journal())
        #expect(losses.isEmpty && losses.items.isEmpty)
        let parts: [(WritableKeyPath<NetworkLosses, [IPPrefix]>, String)] = [
            (\.addresses, "the address 10.77.0.0/24"), (\.routes, "the route to 10.77.0.0/24"),
            (\.barriers, "the unreachable route to 10.77.0.0/24"),
            (\.passages, "the way to 10.77.0.0/24 into the tunnel around it"),
        ]
        let prefix = try #require(IPPrefix("10.77.0.0/24"))
        for (part, item) in parts {
            losses[keyPath: part] = [prefix]
            #expect(losses.items == [item] && !losses.isEmpty)
            losses[keyPath: part] = []
        }
        losses.labels = [try #require(IPAddress("fd00:7::2"))]
        #expect(losses.items == ["the label of fd00:7::2"] && !losses.isEmpty)
        losses.labels = []
        losses.rules = [RoutingRule(to: prefix, priority: 1_900, table: 77)]
        #expect(losses.items == ["the routing rule 1900"] && !losses.isEmpty)
    }

    @Test func `what is sent elsewhere is told, with where to`() throws {
        var losses = losses(try journal())
        let prefix = try #require(IPPrefix("172.30.0.0/16"))
        losses.diversions = [RouteDiversion(prefix: prefix, interface: "eth0")]
        let present = applied.without(losses, mtu: 1400)
        #expect(present.routes == ["10.77.0.2/32"])
        #expect(
            present.notes.last
                == "Traffic to 172.30.0.0/16 doesn't go through the tunnel: a rule or a route from outside sends it to eth0."
        )
    }
}
