import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct OuterPassageTests {
    private let kernel = FakeKernel()
    private var applier: NetworkApplier { NetworkApplier(socket: kernel, controls: FakeControls()) }

    private func settings(_ passage: OuterPassage) -> TunnelNetworkSettings {
        var settings = TunnelNetworkSettings(
            interface: InterfaceIdentity(index: 7, name: "wg0"),
            addresses: prefixes("10.7.0.2/24"),
            routes: prefixes("0.0.0.0/0"),
            endpoints: [Endpoint("198.51.100.2:51820")].compactMap { $0 },
            outerPort: 40_000
        )
        settings.passage = passage
        return settings
    }

    @Test func `outer packets go through the tunnel around it, or nowhere, and its MTU counts`() throws {
        kernel.change { $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1380, isUp: true) }
        let before = kernel.tables
        let outer = InterfaceIdentity(index: 8, name: "wg1")
        var journal = NetworkJournal()
        let applied = try applier.apply(settings(.through(outer)), journal: &journal) { _ in }
        #expect(applied.mtu == 1320)
        let rules = kernel.tables.rules.map(\.rule).filter { $0.condition == .fromOuterPort(40_000) }
        #expect(rules.map(\.destination).sorted() == prefixes("0.0.0.0/0", "::/0").sorted())
        #expect(rules.allSatisfy { $0.priority == Ownership.confinementPriority })
        let table = try #require(rules.first?.table)
        #expect(table == Ownership.passageTable(besides: try #require(journal.ownTable)))
        var ways = kernel.tables.routes.map(\.route).filter { $0.table == table }
        #expect(ways.filter { $0.kind == .unicast }.map(\.interface) == [8, 8])
        #expect(ways.filter { $0.kind == .unreachable }.count == 2)

        // The outer one goes, with its routes: that is missing, and without it nothing leads anywhere.
        kernel.change { $0.routes.removeAll { $0.route.interface == 8 } }
        let missing = try KernelTables(socket: kernel).missing(of: journal, routes: prefixes("0.0.0.0/0"))
        #expect(missing.passages.count == 2 && missing.prefixes.isEmpty)
        _ = try applier.apply(settings(.closed), journal: &journal) { _ in }
        ways = kernel.tables.routes.map(\.route).filter { $0.table == table }
        #expect(ways.map(\.kind) == [.unreachable, .unreachable])

        _ = try applier.apply(settings(.outside), journal: &journal) { _ in }
        #expect(!kernel.tables.routes.contains { $0.route.table == table })
        #expect(applier.revert(&journal, removingLink: false).isComplete)
        #expect(kernel.tables.rules == before.rules && kernel.tables.routes == before.routes)
    }

    @Test func `IPv6 goes nowhere where the tunnel around it has none`() throws {
        let outer = InterfaceIdentity(index: 8, name: "wg1")
        var off = FakeControls()
        off.values["net/ipv6/conf/wg1/disable_ipv6"] = "1"
        // Below 1280 the kernel takes a link's IPv6 away, and the settings of it.
        for (mtu, controls) in [(1380, off), (1279, FakeControls())] {
            let kernel = FakeKernel()
            kernel.change { $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: mtu, isUp: true) }
            let applier = NetworkApplier(socket: kernel, controls: controls)
            var journal = NetworkJournal()
            _ = try applier.apply(settings(.through(outer)), journal: &journal) { _ in }
            let table = Ownership.passageTable(besides: try #require(journal.ownTable))
            let ways = kernel.tables.routes.map(\.route).filter { $0.table == table }
            #expect(ways.filter { $0.kind == .unicast }.map(\.destination) == [.allIPv4])
            #expect(Set(ways.filter { $0.kind == .unreachable }.map(\.destination)) == [.allIPv4, .allIPv6])
            #expect(kernel.tables.rules.filter { $0.rule.table == table }.count == 2)
        }
    }

    @Test func `what is known of the path within the tunnel around it counts, and nothing of the one outside`() throws {
        let outer = InterfaceIdentity(index: 8, name: "wg1")
        let server = try #require(IPAddress("198.51.100.2"))
        kernel.change {
            $0.links[2]?.mtu = 1300
            $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1380, isUp: true)
            $0.paths[server] = 2
        }
        var journal = NetworkJournal()
        #expect(try applier.apply(settings(.closed), journal: &journal) { _ in }.mtu == TunnelMTU.standard)
        #expect(try applier.apply(settings(.through(outer)), journal: &journal) { _ in }.mtu == 1320)
        var limited = settings(.through(outer))
        limited.pathLimits[server] = 1340
        #expect(try applier.apply(limited, journal: &journal) { _ in }.mtu == 1280)
        #expect(try applier.apply(settings(.outside), journal: &journal) { _ in }.mtu == 1240)
    }

    /// C045: an address that leads nowhere from outside keeps nothing in that goes through another tunnel.
    @Test func `inside of another tunnel no address is needed outside`() throws {
        let server = try #require(IPAddress("198.51.100.2"))
        kernel.change {
            $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1380, isUp: true)
            $0.paths[server] = 2
            $0.sources[server] = IPAddress("10.7.0.2")
        }
        func isKeptIn() -> Bool { kernel.tables.rules.contains { $0.rule.table == RoutingRule.nowhere } }
        var journal = NetworkJournal()
        _ = try applier.apply(settings(.through(.init(index: 8, name: "wg1"))), journal: &journal) { _ in }
        #expect(!isKeptIn())
        _ = try applier.apply(settings(.outside), journal: &journal) { _ in }
        #expect(isKeptIn())
    }

    @Test func `each nested tunnel has a table of its own, and leaves that of others alone`() throws {
        kernel.change {
            $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1380, isUp: true)
            $0.links[9] = FakeKernel.FakeLink(name: "wg2", mtu: 1500, isUp: false)
        }
        let outer = InterfaceIdentity(index: 8, name: "wg1")
        var other = TunnelNetworkSettings(
            interface: InterfaceIdentity(index: 9, name: "wg2"),
            addresses: prefixes("10.9.0.2/24"),
            outerPort: 40_001
        )
        other.passage = .through(outer)
        var journals = [NetworkJournal(), NetworkJournal()]
        _ = try applier.apply(settings(.through(outer)), journal: &journals[0]) { _ in }
        let first = kernel.tables
        _ = try applier.apply(other, journal: &journals[1]) { _ in }
        let tables = kernel.tables.rules.map(\.rule).filter { $0.priority == Ownership.confinementPriority }.map(
            \.table
        )
        #expect(Set(tables).count == 2)
        let both = kernel.tables
        _ = try applier.apply(settings(.through(outer)), journal: &journals[0]) { _ in }
        #expect(kernel.tables == both)
        #expect(try KernelTables(socket: kernel).missing(of: journals[0], routes: prefixes("0.0.0.0/0")).isEmpty)
        #expect(applier.revert(&journals[1], removingLink: false).isComplete)
        #expect(kernel.tables.routes == first.routes && kernel.tables.rules == first.rules)
    }

    @Test func `a nested tunnel has its rules ahead of the one around it, whichever was started last`() throws {
        kernel.change { $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1420, isUp: false) }
        let identity = InterfaceIdentity(index: 8, name: "wg1")
        var inner = NetworkJournal()
        var outer = NetworkJournal()
        _ = try applier.apply(settings(.closed), journal: &inner) { _ in }
        let around = TunnelNetworkSettings(interface: identity, routes: prefixes("0.0.0.0/0"))
        _ = try applier.apply(around, journal: &outer) { _ in }
        #expect(try #require(outer.rulePriority) < #require(inner.rulePriority))
        _ = try applier.apply(settings(.through(identity)), journal: &inner) { _ in }
        #expect(try #require(inner.rulePriority) < #require(outer.rulePriority))
        let count = kernel.changes
        _ = try applier.apply(settings(.through(identity)), journal: &inner) { _ in }
        #expect(kernel.changes == count)
    }

    @Test func `a prefix that holds another tunnel's endpoint doesn't stand in the main table`() throws {
        var split = TunnelNetworkSettings(
            interface: InterfaceIdentity(index: 7, name: "wg0"),
            routes: prefixes("198.51.100.0/24", "10.9.0.0/16")
        )
        split.othersEndpoints = [Endpoint("198.51.100.2:51820")].compactMap { $0 }
        var journal = NetworkJournal()
        _ = try applier.apply(split, journal: &journal) { _ in }
        let main = kernel.tables.routes.map(\.route).filter { $0.table == Route.mainTable }
        #expect(main.map(\.destination) == prefixes("10.9.0.0/16"))
        #expect(kernel.tables.rules.contains { $0.rule.condition == .withoutOuterMark })
    }
}
