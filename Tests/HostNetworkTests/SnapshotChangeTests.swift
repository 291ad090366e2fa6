import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct SnapshotChangeTests {
    private let before: NetworkSnapshot

    init() throws {
        let prefix = try #require(IPPrefix("192.0.2.1/24"))
        before = NetworkSnapshot(
            links: [
                NetworkLink(index: 1, name: "lo", kind: .loopback),
                NetworkLink(index: 2, name: "eth0", kind: .wired, addresses: [prefix]),
                NetworkLink(index: 3, name: "wlan0", kind: .wifi, hasCarrier: false),
            ],
            defaultRoutes: [
                DefaultRoute(isIPv6: false, interface: 2, gateway: IPAddress("192.0.2.254")),
                DefaultRoute(isIPv6: false, interface: 3, gateway: IPAddress("198.51.100.1"), metric: 600),
            ]
        )
    }

    private func changes(_ change: (inout NetworkSnapshot) throws -> Void) rethrows -> [SnapshotChange] {
        var after = before
        try change(&after)
        return SnapshotChange.between(before, after)
    }

    @Test func `the same network is no change`() {
        #expect(SnapshotChange.between(before, before).isEmpty)
    }

    @Test func `a cable that is pulled moves the way out`() {
        #expect(before.primaryLink?.name == "eth0")
        let changes = changes {
            $0.links[1].hasCarrier = false
            $0.links[2].hasCarrier = true
            $0.links[2].wirelessName = "Home"
        }
        #expect(
            changes == [
                SnapshotChange(.carrierLost, "eth0"), SnapshotChange(.carrierFound, "wlan0"),
                SnapshotChange(.wirelessNameChanged, "wlan0", "Home"), SnapshotChange(.primaryLinkChanged, "wlan0"),
            ]
        )
    }

    @Test func `everything of a link that is another one is told`() throws {
        let other = try #require(IPPrefix("2001:db8::1/64"))
        let server = try #require(IPAddress("192.0.2.53"))
        let changes = changes {
            $0.links[1].name = "lan0"
            $0.links[1].isUp = false
            $0.links[1].mtu = 1400
            $0.links[1].addresses = [other]
            $0.links[1].nameServers.servers = [server]
            $0.links[1].isMetered = true
        }
        #expect(
            changes == [
                SnapshotChange(.linkRenamed, "lan0", "eth0"), SnapshotChange(.linkDown, "lan0"),
                SnapshotChange(.mtuChanged, "lan0", "1400"), SnapshotChange(.addressRemoved, "lan0", "192.0.2.1/24"),
                SnapshotChange(.addressAdded, "lan0", "2001:db8::1/64"),
                SnapshotChange(.nameServersChanged, "lan0", "192.0.2.53"),
                SnapshotChange(.meteredChanged, "lan0", "yes"),
            ]
        )
    }

    @Test func `links that come and go, and the machine's own`() throws {
        let changes = changes {
            $0.links.remove(at: 1)
            $0.links.append(NetworkLink(index: 9, name: "eth1", kind: .wired))
            $0.defaultRoutes = [DefaultRoute(isIPv6: true, interface: 9)]
            $0.nameServers.servers = []
            $0.nameServers.searchDomains = ["example"]
        }
        #expect(
            changes == [
                SnapshotChange(.linkRemoved, "eth0"), SnapshotChange(.linkAdded, "eth1"),
                SnapshotChange(.nameServersChanged, nil, ""),
                SnapshotChange(.defaultRoutesChanged, nil, "IPv6 by eth1 metric 0"),
                SnapshotChange(.primaryLinkChanged, "eth1"),
            ]
        )
        let none = SnapshotChange.between(before, NetworkSnapshot())
        #expect(none.last == SnapshotChange(.primaryLinkChanged, nil))
    }
}
