import CShims
import Glibc
import LinuxSystem
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct LiveChangesNamespaceTests {
    private static let name = "tlive0"

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `any walk of live changes ends where a fresh start does`(seed: UInt64) async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            var random = Walk(state: seed)
            var interface = try space.makeTun(Self.name)
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            var walked: [String] = []
            var device = try Self.attach()
            for _ in 0..<15 {
                // Some live changes on one interface, then a look at what a new one gets.
                var settings = Self.settings(interface, &random)
                for _ in 0..<4 {
                    _ = try applier.apply(settings, journal: &journal) { _ in }
                    walked.append("\(settings.addresses) \(settings.routes) \(settings.mtu ?? 0) \(settings.endpoints)")
                    settings = Self.settings(interface, &random)
                }
                _ = try applier.apply(settings, journal: &journal) { _ in }
                let live = Self.network(space)
                #expect(applier.revert(&journal).failed == [])
                device = nil
                interface = try space.makeTun(Self.name)
                device = try Self.attach()
                settings.interface = interface
                _ = try applier.apply(settings, journal: &journal) { _ in }
                #expect(live == Self.network(space), "\(settings) after \(walked.suffix(4))")
            }
            _ = consume device
        }
    }

    @Test func `with the last address the routes stay, and the network of the address becomes one`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let interface = try space.makeTun(Self.name)
            let applier = NetworkApplier(socket: space.socket)
            var journal = NetworkJournal()
            var settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.20.0.1/24"),
                routes: prefixes("10.20.0.2/32", "10.20.0.0/24", "10.66.0.0/16"),
                mtu: 1400
            )
            _ = try applier.apply(settings, journal: &journal) { _ in }
            settings.addresses = []
            _ = try applier.apply(settings, journal: &journal) { _ in }
            let routes = space.ip("route show dev \(Self.name)")
            for prefix in ["10.20.0.2 ", "10.20.0.0/24 ", "10.66.0.0/16 "] {
                #expect(routes.contains(prefix + "proto 140"))
            }
            settings.addresses = prefixes("10.30.0.1/24", "10.20.0.1/24")
            _ = try applier.apply(settings, journal: &journal) { _ in }
            settings.addresses = prefixes("10.30.0.1/24")
            _ = try applier.apply(settings, journal: &journal) { _ in }
            #expect(space.ip("route show dev \(Self.name)").contains("10.20.0.0/24 proto 140"))
        }
    }

    /// Gives the device its carrier.
    private static func attach() throws -> OwnedDescriptor? {
        let device = try TunCreation.open()
        let raw = device.raw
        try #require(unsafe shim_tun_attach(raw, name, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR) == 0)
        return device
    }

    private static func settings(_ interface: InterfaceIdentity, _ random: inout Walk) -> TunnelNetworkSettings {
        let mtu = random.one(of: [1200, 1280, 1380, 1420])
        // IPv6 alone can't be had below 1280.
        let always = mtu < 1280 ? prefixes("10.50.0.1/32") : []
        return TunnelNetworkSettings(
            interface: interface,
            addresses: always
                + random.some(of: [
                    "10.20.0.1/24", "10.20.0.7/24", "10.20.0.9/24", "10.30.0.1/32", "10.40.0.1/16", "fd20::1/64",
                    "fd20::7/64", "fd30::1/128",
                ]),
            routes: random.some(of: [
                "0.0.0.0/0", "::/0", "10.20.0.2/32", "10.20.0.0/24", "10.66.0.0/16", "fd20::2/128", "fd66::/48",
                "198.51.100.0/24",
            ]) + prefixes("10.77.0.0/16"),
            mtu: mtu,
            endpoints: random.one(of: [[], ["198.51.100.1:51820"], ["10.20.0.99:51820"]]).compactMap { Endpoint($0) },
            outerPort: 51820
        )
    }

    /// What stands in the kernel, in the kernel's order where that counts.
    private static func network(_ space: Namespace) -> String {
        space.awaitState("UP", of: name)
        space.awaitOwnRoutes()
        let addresses = space.ip("-o addr show dev \(name)").split(separator: "\n").map {
            $0.split(separator: " ").dropFirst().joined(separator: " ")
        }
        let link = space.ip("link show dev \(name)").split(separator: " ").dropFirst().joined(separator: " ")
        let tables = ["route show table all", "-6 route show table all"].flatMap {
            space.ip($0).split(separator: "\n").map(String.init).sorted()
        }
        let rules = ["rule", "-6 rule"].map { space.ip($0) }
        return ([link] + addresses + tables + rules).joined(separator: "\n")
    }
}

/// Random choices that are the same for the same seed (SplitMix64).
private struct Walk: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// Some of them, in any order.
    mutating func some(of texts: [String]) -> [IPPrefix] {
        let count = Int(next() % UInt64(texts.count + 1))
        return texts.shuffled(using: &self).prefix(count).compactMap { IPPrefix($0) }
    }

    mutating func one<Element>(of choices: [Element]) -> Element {
        choices[Int(next() % UInt64(choices.count))]
    }
}
