import CShims
import Glibc
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct LocalNetworksTests {
    private static let up = UInt32(IFF_UP)

    private func local(
        _ addresses: [(UInt32, String)],
        routes: [KernelRoute] = [],
        links: [Link]? = nil
    ) throws -> LocalNetworks {
        let standard = [
            Link(index: 1, name: "lo", flags: Self.up | UInt32(IFF_LOOPBACK), mtu: 65_536),
            Link(index: 2, name: "eth0", flags: Self.up, mtu: 1500),
            Link(index: 3, name: "wlan0", flags: Self.up, mtu: 1500),
            Link(index: 4, name: "off0", flags: 0, mtu: 1500),
            Link(index: 7, name: "wg0", flags: Self.up, mtu: 1420),
        ]
        let read = try addresses.map { InterfaceAddress(interface: $0.0, prefix: try #require(IPPrefix($0.1))) }
        return LocalNetworks(
            of: LocalNetworks.attached(links: links ?? standard, addresses: read, routes: routes) { $0 == 7 }
        )
    }

    private func route(_ text: String, owner: UInt8 = 2, gateway: String? = nil) throws -> KernelRoute {
        let route = Route(to: try #require(IPPrefix(text)), interface: 2)
        return KernelRoute(route, owner: owner, gateway: gateway.flatMap { IPAddress($0) })
    }

    @Test func `the ranges and groups are all there`() {
        #expect(LocalNetworks.ranges.count == 6)
        #expect(LocalNetworks.groups.count == 9)
    }

    @Test(arguments: [
        ("10.1.2.3/24", "10.1.2.0/24"), ("10.0.0.1/8", "10.0.0.0/8"), ("172.16.0.1/12", "172.16.0.0/12"),
        ("172.31.255.1/24", "172.31.255.0/24"), ("192.168.7.1/30", "192.168.7.0/30"),
        ("169.254.3.4/16", "169.254.0.0/16"), ("fd00:7::1/64", "fd00:7::/64"), ("fc00::1/7", "fc00::/7"),
        ("fe80::1/64", "fe80::/64"),
    ])
    func `an address in a local range stands for its network`(address: String, network: String) throws {
        #expect(try local([(2, address)]).prefixes.map(\.description) == [network])
    }

    @Test(arguments: [
        "10.0.0.1/7", "172.32.0.1/16", "172.16.0.1/11", "192.169.0.1/24", "192.168.0.1/15", "203.0.113.5/24",
        "100.64.0.1/10", "0.0.0.1/0", "0.0.0.1/1", "2001:db8::1/64", "fe00::1/7", "ff02::1/16", "10.1.2.3/32",
        "fd00::1/128",
    ])
    func `what isn't wholly in a local range doesn't count`(address: String) throws {
        #expect(try local([(2, address)]) == .none)
    }

    @Test func `only links that are up, and are no tunnels, count`() throws {
        let all: [(UInt32, String)] = [
            (1, "10.9.0.1/24"), (2, "10.1.0.1/24"), (3, "10.2.0.1/24"), (4, "10.3.0.1/24"), (7, "10.4.0.1/24"),
        ]
        #expect(try local(all).links.map(\.link.name) == ["eth0", "wlan0"])
        #expect(try local(all).prefixes == prefixes("10.1.0.0/24", "10.2.0.0/24"))
    }

    @Test func `what lies in another is told once`() throws {
        let found = try local([(2, "10.1.0.1/16"), (2, "10.1.3.1/24"), (3, "10.1.3.2/24"), (3, "192.168.0.1/24")])
        #expect(found.links.map(\.prefixes) == [prefixes("10.1.0.0/16"), prefixes("10.1.3.0/24", "192.168.0.0/24")])
        #expect(found.prefixes == prefixes("10.1.0.0/16", "192.168.0.0/24"))
    }

    @Test func `of routes, those to the link's own network count`() throws {
        let routes = [
            try route("192.168.5.7/32"),  // The other end of a point-to-point link.
            try route("fd00:8::/64", owner: 9),
            try route("192.168.8.0/24", owner: 16),  // DHCP
            try route("192.168.9.0/24", owner: 4),
            try route("192.168.10.0/24", gateway: "10.1.0.254"),
            try route("0.0.0.0/0"), try route("203.0.113.0/24"),
        ]
        #expect(try local([], routes: routes).prefixes == prefixes("192.168.5.7/32", "fd00:8::/64"))
    }

    @Test func `the machine's own are read and follow changes`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let tunnels = OwnInterfaces()
            let tun = try space.makeTun("tlocal0")
            tunnels.insert(tun.index)
            space.ip("addr add 10.99.0.1/24 dev tlocal0")
            space.ip("link set tlocal0 up")
            #expect(try space.tables.localNetworks(besides: tunnels) == .none)
            space.ip("addr add 10.8.0.1/24 dev under0 noprefixroute")
            space.ip("addr add 10.7.0.1 peer 10.7.0.2/32 dev under0")
            space.ip("-6 addr add fd00:8::1/64 dev under0 nodad")
            space.ip("-6 route add fd00:9::/64 dev under0 proto ra")
            space.ip("route add 10.6.0.0/24 dev under0 proto dhcp")
            let found = try space.tables.localNetworks(besides: tunnels)
            #expect(found.links.map(\.link.name) == ["under0"])
            #expect(found.prefixes == prefixes("10.7.0.2/32", "10.8.0.0/24", "fd00:8::/64", "fd00:9::/64"))
        }
    }
}
