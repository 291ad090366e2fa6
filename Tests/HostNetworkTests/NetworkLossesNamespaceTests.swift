import CShims
import Glibc
import LinuxSystem
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NetworkLossesNamespaceTests {
    private static let full = prefixes("0.0.0.0/0", "::/0")

    /// Settings in force on an interface with carrier, and what is asked about them.
    private final class Rig {
        let space: Namespace
        let journal: NetworkJournal
        let routes: [IPPrefix]
        private let device: OwnedDescriptor

        init(_ space: Namespace, addresses: [IPPrefix], routes: [IPPrefix]) throws {
            space.makeUnderlay()
            let interface = try space.makeTun("tloss0")
            let device = try TunCreation.open()
            let raw = device.raw
            try #require(unsafe shim_tun_attach(raw, "tloss0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR) == 0)
            var journal = NetworkJournal()
            let settings = TunnelNetworkSettings(
                interface: interface,
                addresses: addresses,
                routes: routes,
                endpoints: [Endpoint("198.51.100.1:51820")].compactMap { $0 }
            )
            let applied = try NetworkApplier(socket: space.socket).apply(settings, journal: &journal) { _ in }
            self.space = space
            self.routes = applied.routes
            self.journal = journal
            self.device = device
        }

        func losses(tunnels: OwnInterfaces = OwnInterfaces()) throws -> NetworkLosses {
            try space.tables.losses(of: journal, routes: routes, tunnels: tunnels)
        }
    }

    @Test func `of a full tunnel nothing is lost while local networks are reached directly`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(space, addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"), routes: Self.full)
            space.ip("addr add 21.0.0.1/8 dev under0")
            #expect(try rig.losses() == NetworkLosses(of: NetworkJournal(), addresses: [], routes: [], rules: []))
        }
    }

    @Test func `each rule that is gone is found`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(space, addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"), routes: Self.full)
            for rule in rig.journal.rules {
                try space.tables.send(rule.delete)
                let losses = try rig.losses()
                #expect(losses.rules == [rule])
                #expect(losses.prefixes == (rule.leadsIntoTunnel ? [rule.destination] : []))
                try space.tables.send(rule.add)
            }
        }
    }

    @Test func `a rule or routes of somebody else's that lead all of it elsewhere are found`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(space, addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"), routes: Self.full)
            let four = RouteDiversion(prefix: .allIPv4, interface: "under0")
            space.ip("rule add pref 100 lookup main")
            #expect(try rig.losses().diversions == [four])
            space.ip("-6 rule add pref 100 lookup main")
            #expect(try rig.losses().diversions == [four, RouteDiversion(prefix: .allIPv6, interface: "under0")])
            space.ip("rule del pref 100")
            space.ip("-6 rule del pref 100")
            #expect(try rig.losses().diversions == [])
            // Half of it, by the default route: no network of the machine's own.
            space.ip("rule add pref 100 to 128.0.0.0/1 lookup main")
            #expect(try rig.losses().diversions == [four])
            space.ip("rule del pref 100")
            space.ip("route add 0.0.0.0/1 via 192.0.2.254")
            #expect(try rig.losses().diversions == [])
            space.ip("route add 128.0.0.0/1 via 192.0.2.254")
            #expect(try rig.losses().diversions == [four])
            // Into another tunnel of ours it may go.
            let tunnels = OwnInterfaces()
            tunnels.insert(try #require(try space.tables.link(named: "under0")).index)
            #expect(try rig.losses(tunnels: tunnels).diversions == [])
            space.ip("-6 rule add pref 100 unreachable")
            #expect(try rig.losses().diversions.last == RouteDiversion(prefix: .allIPv6, interface: nil))
        }
    }

    @Test func `what leads into the tunnel by an address's network is lost with that network's route`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(
                space,
                addresses: prefixes("10.20.0.1/24", "fd20::1/64"),
                routes: prefixes("10.20.0.2/32", "fd20::2/128", "10.66.0.0/16")
            )
            #expect(try rig.losses().prefixes.isEmpty)
            space.ip("route del 10.20.0.0/24 dev tloss0")
            #expect(try rig.losses().routes == prefixes("10.20.0.2/32"))
            space.ip("route add 10.20.0.0/25 dev tloss0")
            #expect(try rig.losses().prefixes.isEmpty)
            space.ip("route flush dev tloss0")
            space.ip("-6 route flush dev tloss0")
            #expect(Set(try rig.losses().routes) == Set(prefixes("10.20.0.2/32", "fd20::2/128", "10.66.0.0/16")))
        }
    }

    @Test func `a route in a table of the user's own is compared and not asked about`() async throws {
        try await Namespace.run { space in
            let interface = try space.makeTun("tloss1")
            var journal = NetworkJournal()
            let settings = TunnelNetworkSettings(interface: interface, routes: Self.full, table: .number(77))
            let applied = try NetworkApplier(socket: space.socket).apply(settings, journal: &journal) { _ in }
            let none = try space.tables.losses(of: journal, routes: applied.routes, tunnels: OwnInterfaces())
            #expect(none.prefixes.isEmpty)
            space.ip("route flush table 77")
            let lost = try space.tables.losses(of: journal, routes: applied.routes, tunnels: OwnInterfaces())
            #expect(lost.routes == [.allIPv4])
        }
    }

    @Test func `addresses to ask about are spread over a prefix and lie in it`() throws {
        func probes(_ text: String) throws -> [String] { try #require(IPPrefix(text)).probes.map(\.description) }
        #expect(try probes("0.0.0.0/0") == ["21.85.85.85", "85.85.85.85", "149.85.85.85", "213.85.85.85"])
        #expect(try probes("10.20.0.0/24") == ["10.20.0.21", "10.20.0.85", "10.20.0.149", "10.20.0.213"])
        #expect(try probes("10.20.0.4/31") == ["10.20.0.4", "10.20.0.5"])
        #expect(try probes("10.20.0.4/32") == ["10.20.0.4"])
        #expect(try probes("fd20::2/128") == ["fd20::2"])
        for text in ["::/0", "fd20::/48", "fd20::/64", "fd20::/65", "fd20::/126", "fd20::/127", "2000::/3"] {
            let prefix = try #require(IPPrefix(text))
            #expect(prefix.probes.allSatisfy(prefix.contains))
            #expect(Set(prefix.probes).count == (prefix.length == 127 ? 2 : 4))
        }
    }
}
