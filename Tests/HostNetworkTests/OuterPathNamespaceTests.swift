import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct OuterPathNamespaceTests {
    @Test func `the way to an endpoint is the kernel's, and none by a link without a carrier`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let reader = try SnapshotReader(
                socket: space.socket,
                ownInterfaces: OwnInterfaces(),
                nameServers: NameServerReader(bus: nil),
                metered: MeteredReader(bus: nil)
            )
            let endpoints = try ["203.0.113.1:1", "[2001:db8:9::1]:1"].map { try #require(Endpoint(text: $0)) }
            let path = try reader.path(to: endpoints)
            #expect(path.ways.map { $0.gateway?.description } == ["192.0.2.254", "2001:db8::254"])
            #expect(path.ways.map { $0.source?.description } == ["192.0.2.1", "2001:db8::1"])
            #expect(path.mtus == [TunnelMTU.Path(mtu: 1500, isIPv6: false), TunnelMTU.Path(mtu: 1500, isIPv6: true)])
            #expect(path.isAvailable)
            #expect(path.network == "under0 192.0.2.254")
            // A route may say that it carries less.
            space.ip("route replace default via 192.0.2.254 mtu 1300")
            #expect(try reader.path(to: [endpoints[0]]).mtus == [TunnelMTU.Path(mtu: 1300, isIPv6: false)])
            // Only one family is left.
            space.ip("-6 route del default")
            #expect(try reader.path(to: endpoints).ways.map(\.endpoint) == [endpoints[0]])
            #expect(!(try reader.path(to: [endpoints[1]]).isAvailable))
            // The cable is pulled.
            space.ip("link set under1 down")
            space.awaitState("LOWERLAYERDOWN", of: "under0")
            let pulled = try reader.path(to: endpoints)
            #expect(pulled.ways.isEmpty && !pulled.isAvailable && pulled.network == nil)
            #expect(!(try reader.path(to: []).isAvailable), "no link is left at all")
        }
    }

    @Test func `the way of a nested tunnel is that of its port into the tunnel around it, and no other`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            space.ip("link add around0 type veth peer name around1")
            space.ip("link set around0 up mtu 1380")
            space.ip("link set around1 up")
            space.awaitState("UP", of: "around0")
            space.ip("addr add 10.7.0.2/24 dev around0")
            let around = try #require(try space.tables.link(named: "around0"))
            let under = try #require(try space.tables.link(named: "under0"))
            let tunnels = OwnInterfaces()
            tunnels.insert(around.index)
            let reader = try SnapshotReader(
                socket: space.socket,
                ownInterfaces: tunnels,
                nameServers: NameServerReader(bus: nil),
                metered: MeteredReader(bus: nil)
            )
            let endpoint = try #require(Endpoint(text: "203.0.113.1:1"))
            let passage = OuterPassage.through(InterfaceIdentity(index: around.index, name: "around0"))

            // Outside there is a way, which is none for it.
            let without = try reader.path(to: [endpoint], by: passage, from: 40_000)
            #expect(without.ways.isEmpty && !without.isAvailable && without.obstacle == nil)
            space.ip("route add default dev around0 table 1234")
            space.ip("rule add pref 1900 ipproto udp sport 40000 uidrange 0-0 lookup 1234")
            let nested = try reader.path(to: [endpoint], by: passage, from: 40_000)
            let source = try #require(IPAddress("10.7.0.2"))
            #expect(nested.ways == [OuterPath.Way(to: endpoint, interface: around.index, source: source)])
            #expect(nested.isAvailable && nested.mtus == [TunnelMTU.Path(mtu: 1380, isIPv6: false)])
            #expect(try !reader.path(to: [endpoint], by: passage, from: 40_001).isAvailable)
            #expect(try reader.path(to: [endpoint], from: 40_001).ways.map(\.interface) == [under.index])
            let closed = try reader.path(to: [endpoint], by: .closed, from: 40_000)
            #expect(!closed.isAvailable && closed.obstacle == .waitsForOuter)

            // What isn't nested must not get into a tunnel, nor have its address.
            space.ip("route add 203.0.113.1/32 dev around0")
            let caught = try reader.path(to: [endpoint])
            #expect(!caught.isAvailable && caught.ways.isEmpty && caught.obstacle == .intoTunnel("around0"))
            space.ip("route change 203.0.113.1/32 dev under0 src 10.7.0.2")
            let without4 = try reader.path(to: [endpoint])
            #expect(!without4.isAvailable && without4.obstacle == .noSource(link: "under0"))
        }
    }

    @Test func `endpoints are read with their zones`() {
        #expect(Endpoint(text: "192.0.2.1:51820")?.port == 51820)
        #expect(Endpoint(text: "[fe80::1%lo]:7")?.zone == 1)
        #expect(Endpoint(text: "[2001:db8::1]:7")?.zone == 0)
        for wrong in ["", "192.0.2.1", "[fe80::1%nope]:7", "[fe80::1%lo]", "[fe80::1%lo]7", "]:[", "[::1]:99999"] {
            #expect(Endpoint(text: wrong) == nil, "\(wrong)")
        }
    }
}
