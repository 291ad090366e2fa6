import CShims
import Glibc
import Netlink
import NetworkTypes
import TestSupport
import Testing

@testable import HostNetwork

@Suite struct SnapshotReaderNamespaceTests {
    private static func reader(_ space: Namespace, own: OwnInterfaces = OwnInterfaces()) throws -> SnapshotReader {
        try SnapshotReader(
            socket: space.socket,
            ownInterfaces: own,
            nameServers: NameServerReader(bus: nil),
            metered: MeteredReader(bus: nil)
        )
    }

    @Test func `links, addresses and default routes are read as they are`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let tunnel = try space.makeTun("tnet0")
            let own = OwnInterfaces()
            own.insert(tunnel.index)
            space.ip("link add second0 type veth peer name second1")
            space.ip("addr add 198.51.100.1/24 dev second0")
            space.ip("link set second0 mtu 1400 address 02:00:00:00:00:09 up")
            space.ip("link set second1 up")
            space.ip("route add default via 198.51.100.254 metric 5")
            space.ip("route add default via inet6 2001:db8::253 dev under0 metric 7")
            space.ip("-6 route add default dev second0 metric 2000")
            space.ip("route add default via 198.51.100.254 table 99")
            let snapshot = try Self.reader(space, own: own).kernelPart()
            let under = try #require(snapshot.links.first { $0.name == "under0" })
            let second = try #require(snapshot.links.first { $0.name == "second0" })
            #expect(snapshot.links.first { $0.name == "lo" }?.kind == .loopback)
            #expect(snapshot.link(tunnel.index)?.kind == .tunnel)
            #expect(under.kind == .virtual && under.driver == "veth" && under.isUp && under.hasCarrier)
            #expect(Set(under.addresses.map(\.description)) == ["192.0.2.1/24", "2001:db8::1/64"])
            #expect(second.mtu == 1400 && second.hardwareAddress == [2, 0, 0, 0, 0, 9])
            let gateways = snapshot.defaultRoutes.map {
                "\($0.interface == under.index) \($0.gateway?.description ?? "-")"
            }
            #expect(
                gateways == [
                    "true 192.0.2.254", "false 198.51.100.254", "true 2001:db8::253", "true 2001:db8::254", "false -",
                ]
            )
            #expect(snapshot.defaultRoutes.map(\.metric) == [0, 5, 7, 1024, 2000])
            #expect(snapshot.primaryLink?.name == "under0")
            // The cable is pulled at the other end.
            space.ip("link set under1 down")
            // The kernel tells it within a second, and meanwhile another way is right too.
            #expect(blockUntil { space.ip("link show under0").contains("NO-CARRIER") })
            let pulled = try Self.reader(space).kernelPart()
            #expect(pulled.links.first { $0.name == "under0" }.map { $0.isUp && !$0.hasCarrier } == true)
            #expect(pulled.primaryLink?.name == "second0")
        }
    }

    @Test func `each way of a route with several counts`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            space.ip("link add second0 type veth peer name second1")
            space.ip("addr add 198.51.100.1/24 dev second0")
            space.ip("link set second0 up")
            space.ip("link set second1 up")
            space.ip("route replace default nexthop via 192.0.2.253 nexthop via 198.51.100.253 weight 2")
            let routes = try DefaultRoute.all(space.socket).filter { !$0.isIPv6 }
            #expect(routes.map { $0.gateway?.description } == ["192.0.2.253", "198.51.100.253"])
        }
    }

    @Test func `300 links and 20,000 routes are read whole, also while they change`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            space.batch((0..<150).map { "link add many\($0) type veth peer name ymany\($0)" })
            space.batch((0..<20_000).map { "route add 10.\($0 >> 8).\($0 & 255).0/24 via 192.0.2.254" })
            let snapshot = try Self.reader(space).kernelPart()
            #expect(snapshot.links.count == 300 + 3, "and lo, under0 and under1")
            #expect(Set(snapshot.links.map(\.index)).count == snapshot.links.count)
            #expect(snapshot.defaultRoutes.map { $0.gateway?.description } == ["192.0.2.254", "2001:db8::254"])
            #expect(try space.tables.routes(.init(isIPv6: false, table: Route.mainTable)).count == 20_000 + 2)
        }
    }
}

extension Namespace {
    /// Many commands of ip(8) in one go.
    func batch(_ lines: [String]) {
        guard let pipe = unsafe popen("ip -batch - 2>&1", "w") else {
            Issue.record("popen failed")
            return
        }
        for line in lines { unsafe fputs(line + "\n", pipe) }
        if unsafe pclose(pipe) != 0 { Issue.record("ip -batch failed") }
    }
}
