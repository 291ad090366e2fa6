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
            #expect(applied.routes == prefixes("10.8.0.0/16", "fd00:8::/48", "10.7.0.0/24"))
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

    @Test func `an address is exchanged for another of the same network, with its routes in place`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            for addresses in [["10.7.0.2/24"], ["10.7.0.3/24", "10.7.0.4/24"], ["10.7.0.4/24"]] {
                let settings = TunnelNetworkSettings(
                    interface: interface,
                    addresses: addresses.compactMap { IPPrefix($0) },
                    routes: prefixes("10.7.0.0/24", "10.8.0.0/16")
                )
                _ = try applier.apply(settings, journal: &journal) { _ in }
                let present = try space.tables.addresses(of: interface.index).map(\.prefix.description)
                #expect(present.filter { $0.hasPrefix("10.7") }.sorted() == addresses)
                #expect(space.ip("route show 10.7.0.0/24").contains("dev tnet0"))
                #expect(space.ip("route show 10.8.0.0/16").contains("dev tnet0"))
            }
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

    @Test func `answers from the gateway pass a strict reverse-path filter`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let before = space.snapshot()
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            var settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/32"),
                routes: prefixes("0.0.0.0/0"),
                endpoints: [try #require(Endpoint("198.51.100.1:51820"))]
            )
            try ProcSystemControls().write("1", to: "net/ipv4/conf/all/rp_filter")
            let answer = "route get 192.0.2.1 from 198.51.100.1 iif under0 ipproto udp sport 9 dport 51820"
            // The kernel plays the arrival of a packet, with the filter's verdict.
            _ = try applier.apply(settings, journal: &journal) { _ in }
            space.ip(answer, fails: true)
            settings.outerPort = 51820
            _ = try applier.apply(settings, journal: &journal) { _ in }
            #expect(space.ip(answer).contains("local 192.0.2.1"))
            let other = answer.replacing("51820", with: "51821")
            space.ip(other, fails: true)
            // No way out beside the tunnel for a user who sends from that port.
            let outgoing = "route get 198.51.100.1 ipproto udp sport 51820 dport 53"
            #expect(space.ip(outgoing + " uid 1000").contains("dev tnet0"))
            #expect(applier.revert(&journal).isComplete)
            #expect(space.snapshot() == before)
        }
    }

    @Test func `a split tunnel whose route holds the endpoint doesn't catch its own packets`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let before = space.snapshot()
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/24"),
                routes: prefixes("198.51.100.0/24", "203.0.113.0/24", "2001:db8:9::/48"),
                endpoints: [
                    try #require(Endpoint("198.51.100.1:51820")), try #require(Endpoint("10.7.0.1:51820")),
                    try #require(Endpoint("[2001:db8:9::1]:51820")),
                ]
            )
            _ = try applier.apply(settings, journal: &journal) { _ in }
            let outside = try #require(try space.tables.link(named: "under0")).index
            for text in ["198.51.100.1", "10.7.0.1", "2001:db8:9::1"] {
                let address = try #require(IPAddress(text))
                #expect(try space.tables.lookUp(address)?.interface == outside, "outer packets to \(text)")
                #expect(try space.tables.lookUp(address, mark: 0)?.interface == interface.index, "all else to \(text)")
            }
            // What is no tunnel's goes its usual way.
            let elsewhere = try #require(IPAddress("192.0.2.77"))
            #expect(try space.tables.lookUp(elsewhere, mark: 0)?.interface == outside)
            _ = try applier.apply(settings, journal: &journal) { _ in Issue.record("changed again") }
            #expect(applier.revert(&journal).isComplete)
            #expect(space.snapshot() == before)
        }
    }

    @Test(arguments: [("all", false), ("default", true)])
    func `IPv6 that is off for new links is switched on for the tunnel, off for all it stays`(
        place: String,
        hasIPv6: Bool
    ) async throws {
        try await Namespace.run { space in
            let controls = ProcSystemControls()
            try controls.write("1", to: "net/ipv6/conf/\(place)/disable_ipv6")
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/32", "fd00:7::2/128"),
                routes: prefixes("0.0.0.0/0", "::/0")
            )
            let applied = try applier.apply(settings, journal: &journal) { _ in }
            #expect(applied.hasIPv4Default)
            #expect(applied.hasIPv6Default == hasIPv6)
            #expect(applied.notes.map(\.code) == (hasIPv6 ? [] : [.ipv6Disabled]))
            #expect(space.ip("addr show dev tnet0").contains("fd00:7::2/128") == hasIPv6)
            #expect(applier.revert(&journal).isComplete)
        }
    }

    @Test func `the MTU follows the path, also below what IPv6 needs and back`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let interface = try space.makeTun("tnet0")
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/32", "fd00:7::2/128"),
                routes: prefixes("10.8.0.0/16", "fd00:8::/48"),
                endpoints: [try #require(Endpoint("198.51.100.1:51820"))]
            )
            for (path, mtu) in [(1500, 1440), (1400, 1340), (1280, 1220), (576, 516), (1500, 1440)] {
                space.ip("route replace default via 192.0.2.254 mtu \(path)")
                let applied = try applier.apply(settings, journal: &journal) { _ in }
                #expect(applied.mtu == mtu)
                #expect(applied.addresses.count == (mtu < 1280 ? 1 : 2))
                #expect(applied.notes.map(\.code) == (mtu < 1280 ? [.mtuBelowIPv6] : []))
                #expect(space.ip("link show tnet0").contains("mtu \(mtu) "))
                #expect(space.ip("-6 route show fd00:8::/48").isEmpty == (mtu < 1280))
            }
            #expect(applier.revert(&journal).isComplete)
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
