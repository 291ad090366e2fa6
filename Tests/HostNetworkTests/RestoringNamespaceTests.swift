import CShims
import Glibc
import LinuxSystem
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct RestoringNamespaceTests {
    /// A full tunnel with more specific prefixes, in force on an interface with carrier.
    private final class Rig {
        let space: Namespace
        let settings: TunnelNetworkSettings
        var journal = NetworkJournal()
        private let device: OwnedDescriptor

        init(_ space: Namespace) throws {
            space.makeUnderlay()
            let interface = try space.makeTun("tback0")
            let device = try TunCreation.open()
            let raw = device.raw
            try #require(unsafe shim_tun_attach(raw, "tback0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR) == 0)
            settings = TunnelNetworkSettings(
                interface: interface,
                addresses: prefixes("10.7.0.2/24", "fd00:7::2/64", "10.9.0.1/32"),
                routes: prefixes("0.0.0.0/0", "::/0", "10.8.0.0/16", "fd00:8::/64", "198.51.100.0/24", "10.7.0.3/32"),
                endpoints: [Endpoint("198.51.100.1:51820")].compactMap { $0 }
            )
            self.space = space
            self.device = device
            try apply(restoring: false)
        }

        func apply(restoring: Bool = true) throws {
            _ = try NetworkApplier(socket: space.socket)
                .apply(settings, restoring: restoring, journal: &journal) { _ in }
        }

        func missing() throws -> NetworkLosses {
            try space.tables.missing(of: journal, routes: settings.routes)
        }

        var lines: [String] { space.snapshot().split(separator: "\n").map(String.init).sorted() }
    }

    @Test func `each thing that is taken away is found missing and comes back as it was`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(space)
            let whole = rig.lines
            #expect(try rig.missing().isEmpty)
            let removals =
                rig.journal.rules.map(\.delete) + rig.journal.routes.map(\.delete)
                + rig.journal.addresses.map(\.delete)
            #expect(removals.count == 6 + 8 + 3)
            for removal in removals {
                try space.tables.send(removal)
                #expect(rig.lines != whole)
                #expect(try !rig.missing().isEmpty)
                try rig.apply()
                let difference = rig.lines.difference(from: whole)
                #expect(difference.isEmpty, "\(difference.map { $0 })")
            }
            for removal in removals { _ = try? space.tables.send(removal) }
            try rig.apply()
            #expect(rig.lines == whole)
        }
    }

    @Test(arguments: [
        "link set tback0 down", "addr flush dev tback0", "route flush dev tback0", "-6 route flush dev tback0",
        "route flush table 1953852928", "rule flush", "-6 rule flush",
    ])
    func `what somebody flushes is back with one call`(meddling: String) async throws {
        try await Namespace.run { space in
            let rig = try Rig(space)
            let whole = rig.lines
            space.ip(meddling)
            // What isn't ours doesn't come from us.
            if meddling.hasSuffix("rule flush") {
                let family = meddling.hasPrefix("-6") ? "-6 " : ""
                space.ip("\(family)rule add pref 32766 lookup main protocol kernel")
                if family.isEmpty { space.ip("rule add pref 32767 lookup default protocol kernel") }
            }
            #expect(rig.lines != whole)
            try rig.apply()
            // In the place of the kernel's routes to an address's network there may be ours.
            let isOfAddress = { (line: String) in line.hasPrefix("10.7.0.0/24 ") || line.hasPrefix("fd00:7::/64 ") }
            #expect(rig.lines.filter { !isOfAddress($0) } == whole.filter { !isOfAddress($0) })
            #expect(rig.lines.count == whole.count)
            #expect(try rig.missing().isEmpty)
            let once = rig.lines
            try rig.apply()
            #expect(rig.lines == once)
            #expect(NetworkApplier(socket: space.socket).revert(&rig.journal).isComplete)
        }
    }

    @Test func `the kernel's route to an address's network is replaced by ours until it has its own again`()
        async throws
    {
        try await Namespace.run { space in
            let rig = try Rig(space)
            let whole = rig.lines
            space.ip("route del 10.7.0.0/24 dev tback0")
            #expect(try rig.missing().routes == prefixes("10.7.0.3/32"))
            try rig.apply()
            #expect(try rig.missing().isEmpty)
            #expect(space.ip("route show 10.7.0.0/24").contains("proto 140"))
            space.ip("addr del 10.7.0.2/24 dev tback0")
            try rig.apply()
            try rig.apply()
            #expect(rig.lines == whole)
        }
    }

    @Test func `one route that is taken keeps nothing else away`() async throws {
        try await Namespace.run { space in
            let rig = try Rig(space)
            space.ip("route replace 10.8.0.0/16 dev under0")
            space.ip("rule del pref 29995")
            space.ip("-6 route del fd00:8::/64")
            #expect {
                try rig.apply()
            } throws: { error in
                (error as? NetworkSettingsError)?.code == .conflict
            }
            let missing = try rig.missing()
            #expect(missing.routes == prefixes("10.8.0.0/16"))
            #expect(missing.rules.isEmpty && missing.addresses.isEmpty)
            space.ip("route del 10.8.0.0/16 dev under0")
            try rig.apply()
            #expect(try rig.missing().isEmpty)
        }
    }
}
