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
            let pulled = try reader.path(to: endpoints)
            #expect(pulled.ways.isEmpty && !pulled.isAvailable && pulled.network == nil)
            #expect(!(try reader.path(to: []).isAvailable), "no link is left at all")
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
