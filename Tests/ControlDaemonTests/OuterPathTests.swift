import HostNetwork
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct OuterPathTests {
    private let endpoint: Endpoint
    private let other: Endpoint

    init() throws {
        endpoint = try #require(Endpoint("192.0.2.1:51820"))
        other = try #require(Endpoint("192.0.2.2:51820"))
    }

    private func path(_ ways: OuterPath.Way..., network: String? = "home") -> OuterPath {
        OuterPath(ways: ways, isAvailable: !ways.isEmpty, network: network)
    }

    @Test func `the way is another where the kernel sends otherwise, or where there was none`() {
        let by2 = OuterPath.Way(to: endpoint, interface: 2, source: IPAddress("10.0.0.1"))
        let by3 = OuterPath.Way(to: endpoint, interface: 3, source: IPAddress("10.0.0.1"))
        let renumbered = OuterPath.Way(to: endpoint, interface: 2, source: IPAddress("10.0.0.2"))
        #expect(path(by2).isAnotherWay(than: nil), "nobody knows")
        #expect(!path(by2).isAnotherWay(than: path(by2)))
        #expect(path(by3).isAnotherWay(than: path(by2)))
        #expect(path(renumbered).isAnotherWay(than: path(by2)))
        #expect(path(by2).isAnotherWay(than: path()), "it is back")
        #expect(!path().isAnotherWay(than: path(by2)), "there is none to probe over")
    }

    @Test func `a path carries no more than it was found to`() {
        var path = path(OuterPath.Way(to: endpoint, interface: 2), OuterPath.Way(to: other, interface: 2))
        path.mtus = [TunnelMTU.Path(mtu: 1500, isIPv6: false), TunnelMTU.Path(mtu: 1400, isIPv6: false)]
        #expect(path.limited(to: [:]) == path)
        #expect(path.limited(to: [endpoint.address: 1280]).mtus.map(\.mtu) == [1280, 1400])
        #expect(path.limited(to: [other.address: 1450]).mtus.map(\.mtu) == [1500, 1400])
    }

    @Test func `an endpoint more or less is no other way`() {
        let way = OuterPath.Way(to: endpoint, interface: 2)
        let second = OuterPath.Way(to: other, interface: 3)
        #expect(!path(way, second).isAnotherWay(than: path(way)))
        #expect(!path(way).isAnotherWay(than: path(way, second)))
    }

    @Test func `while no endpoint is known the network itself counts`() {
        let here = OuterPath(network: "home")
        #expect(!OuterPath(network: "home").isAnotherWay(than: here))
        #expect(OuterPath(network: "office").isAnotherWay(than: here))
    }
}
