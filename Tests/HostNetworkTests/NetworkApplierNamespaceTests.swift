import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NetworkApplierNamespaceTests {
    @Test func `a split tunnel gets its addresses and routes and leaves nothing`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let before = space.snapshot()
            let interface = try space.makeTun("tnet0")
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"),
                routes: prefixes("10.7.0.0/24", "10.8.0.0/16", "fd00:8::/48"),
                endpoints: [try #require(Endpoint("198.51.100.1:51820"))],
                outerPort: 51820
            )
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            var records: [NetworkJournal] = []
            let applied = try applier.apply(settings, journal: &journal) { records.append($0) }

            #expect(applied.mtu == 1440)
            #expect(applied.notes == [])
            #expect(applied.routes == prefixes("10.8.0.0/16", "fd00:8::/48"))
            #expect(!applied.hasIPv4Default && !applied.hasIPv6Default)
            #expect(space.ip("route show 10.8.0.0/16").contains("dev tnet0 proto 140 scope link"))
            #expect(space.ip("-6 route show fd00:8::/48").contains("dev tnet0 proto 140 metric 1024"))
            #expect(space.ip("route show 10.7.0.0/24").contains("proto kernel"))
            #expect(!space.ip("-6 addr show dev tnet0").contains("fe80"))
            let link = space.ip("link show tnet0")
            #expect(link.contains("UP") && link.contains("mtu 1440") && !link.contains("MULTICAST"))
            #expect(records.count == 2)
            #expect(records.last == journal)

            let again = try applier.apply(settings, journal: &journal) { records.append($0) }
            #expect(again == applied)
            #expect(records.count == 2, "nothing changed, so nothing is written")

            let report = applier.revert(&journal)
            #expect(report.failed == [])
            #expect(report.removed.contains("interface tnet0"))
            #expect(journal.isEmpty)
            #expect(space.snapshot() == before)
        }
    }

    @Test func `a full tunnel has its own table and rules and keeps the outer packets out`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let before = space.snapshot()
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            let endpoint = try #require(IPAddress("198.51.100.1"))
            let applied = try applier.apply(
                TunnelNetworkSettings(
                    interface: interface,
                    addresses: prefixes("10.7.0.2/32", "fd00:7::2/128"),
                    routes: prefixes("0.0.0.0/0", "::/0"),
                    endpoints: [Endpoint(endpoint, port: 51820)],
                    outerPort: 51820
                ),
                journal: &journal
            ) { _ in }
            #expect(applied.hasIPv4Default && applied.hasIPv6Default)
            #expect(applied.table == 0x7475_6e00)
            let outside = try #require(try space.tables.link(named: "under0")).index
            #expect(try space.tables.lookUp(endpoint)?.interface == outside)
            #expect(try space.tables.lookUp(endpoint, mark: 0)?.interface == interface.index)
            let six = try #require(IPAddress("2001:db8:ffff::1"))
            #expect(try space.tables.lookUp(six)?.interface == outside)
            #expect(try space.tables.lookUp(six, mark: 0)?.interface == interface.index)
            // The local network stays reachable.
            let neighbour = try #require(IPAddress("192.0.2.7"))
            #expect(try space.tables.lookUp(neighbour, mark: 0)?.interface == outside)
            #expect(
                space.ip("rule").contains("from all fwmark 0/0x8000000 lookup 1953852928 proto 140")
            )
            // While the link is down nothing goes round the tunnel.
            space.ip("link set tnet0 down")
            #expect(try space.tables.lookUp(endpoint, mark: 0) == nil)
            #expect(try space.tables.lookUp(six, mark: 0) == nil)

            #expect(applier.revert(&journal).failed == [])
            #expect(space.snapshot() == before)
        }
    }

    @Test func `ten thousand routes come and go in less than two seconds each`() async throws {
        try await Namespace.run { space in
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            let routes = (0..<10_000).compactMap { number in
                IPPrefix(.v4(IPv4Address(0x0a00_0000 | UInt32(number) << 4)), length: 28)
            }
            let clock = ContinuousClock()
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("172.16.0.1/32"),
                routes: routes
            )
            let adding = try clock.measure { _ = try applier.apply(settings, journal: &journal) { _ in } }
            #expect(try space.tables.routes(.init(isIPv6: false, owner: 140)).count == 10_000)
            let removing = clock.measure {
                #expect(applier.revert(&journal, removingLink: false).removed.count == 10_001)
            }
            #expect(try space.tables.routes(.init(isIPv6: false, owner: 140)).isEmpty)
            // Five times the bound of two seconds: an unoptimised build on a busy machine.
            #expect(adding < .seconds(10))
            #expect(removing < .seconds(10))
            print("10,000 routes: \(adding) and \(removing)")
        }
    }
}

func prefixes(_ texts: String...) -> [IPPrefix] { texts.compactMap { IPPrefix($0) } }
