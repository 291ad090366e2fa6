import NetworkTypes
import Testing

@testable import HostNetwork

/// C045.
@Suite struct OuterSourceTests {
    private static let own: [IPAddress] = ["2001:db8:7::1", "10.7.0.1"].compactMap { IPAddress($0) }

    @Test(arguments: [
        ("2001:db8:1::1", "2001:db8:97::2", true),
        ("2001:db8:7::1", "2001:db8:97::2", false),
        ("10.7.0.1", "198.51.100.2", false),
        ("192.0.2.1", "198.51.100.2", true),
        // The kernel takes these only as long as no tunnel has an address.
        ("fe80::1", "2001:db8:97::2", false),
        ("fe80::1", "fe80::2", true),
        (nil, "198.51.100.2", false),
        (nil, "2001:db8:97::2", false),
    ])
    func `a tunnel's address is no source, nor what it would be taken instead of`(
        source: String?,
        endpoint: String,
        isUsable: Bool
    ) throws {
        let endpoint = try #require(IPAddress(endpoint))
        let source = source.flatMap { IPAddress($0) }
        #expect(OuterSource.isUsable(source, to: endpoint, own: Set(Self.own)) == isUsable)
        // Without a tunnel that has one of the family, the kernel's choice stands.
        let others = Set(Self.own.filter { $0.isIPv6 != endpoint.isIPv6 })
        #expect(OuterSource.isUsable(source, to: endpoint, own: others))
        // Nor is a link-local address of a tunnel taken for another link.
        let linkLocal = try #require(IPAddress("fe80::7"))
        #expect(OuterSource.isUsable(source, to: endpoint, own: others.union([linkLocal])))
    }

    @Test func `outer packets that have no source are kept in, and our own questions aren't`() throws {
        let kernel = FakeKernel()
        let server = try #require(IPAddress("2001:db8:97::2"))
        kernel.change {
            $0.paths[server] = 2
            $0.sources[server] = IPAddress("fe80::1")
        }
        let applier = NetworkApplier(socket: kernel, controls: FakeControls())
        var settings = TunnelNetworkSettings(
            interface: InterfaceIdentity(index: 7, name: "wg0"),
            addresses: prefixes("2001:db8:97:7::1/64"),
            endpoints: [Endpoint(server, port: 51820)],
            outerPort: 40_000
        )
        var journal = NetworkJournal()
        _ = try applier.apply(settings, journal: &journal) { _ in }
        let rule = RoutingRule(
            to: try #require(IPPrefix(server, length: 128)),
            priority: Ownership.confinementPriority,
            table: RoutingRule.nowhere,
            condition: .outerPackets(fromPort: 40_000)
        )
        #expect(kernel.tables.rules.map(\.rule) == [rule])
        #expect(try KernelRule(rule.add.message).rule == rule)
        kernel.change { $0.sources[server] = IPAddress("2001:db8:1::1") }
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.rules.isEmpty)

        // The same address on another link is that one's.
        let shared = try #require(prefixes("2001:db8:97:7::1/64").first)
        kernel.change { $0.sources[server] = shared.address }
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.rules.map(\.rule) == [rule])
        kernel.change { $0.addresses.insert(InterfaceAddress(interface: 2, prefix: shared)) }
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.rules.isEmpty)
        kernel.change { $0.addresses = $0.addresses.filter { $0.interface != 2 } }
        // What leads into a tunnel is let out by what mends that.
        kernel.change { $0.paths[server] = 7 }
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.rules.isEmpty)
        kernel.change { $0.paths[server] = 2 }

        // Where the routes are others' affair, so are the rules.
        kernel.change { $0.sources[server] = IPAddress("fe80::1") }
        settings.table = .off
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.rules.isEmpty)
    }
}
