import CShims
import Glibc
import Netlink
package import NetworkTypes

/// A prefix of a tunnel that the kernel sends another way, by a rule or a route of somebody else's.
package struct RouteDiversion: Hashable, Sendable {
    package let prefix: IPPrefix
    /// The name of the link that its packets go to; nil where they go nowhere.
    package let interface: String?

    package init(prefix: IPPrefix, interface: String?) {
        self.prefix = prefix
        self.interface = interface
    }

    /// How many prefixes beside the defaults are asked about: each costs some system calls.
    static let limit = 16
}

extension KernelTables {
    /// Asks the kernel which way a packet without our mark goes to some addresses of each prefix.
    ///
    /// What goes by a more specific route than the prefix is the machine's own business (its local networks), unless all
    /// of the prefix does. So is what goes into another tunnel: of several the last one has the default route.
    /// - Parameter tunnels: the interfaces of all tunnels.
    func diversions(
        of prefixes: [IPPrefix],
        from interface: UInt32,
        tunnels: OwnInterfaces
    ) throws(NetlinkError) -> [RouteDiversion] {
        let asked = prefixes.filter { !$0.isMulticast }
        let chosen = asked.filter { $0.length == 0 } + asked.filter { $0.length > 0 }.prefix(RouteDiversion.limit)
        var diversions: [RouteDiversion] = []
        for prefix in chosen {
            let ways = try prefix.probes.map { (address) throws(NetlinkError) in try way(to: address) }
            var passing: [Way] = []
            var isDiverted = false
            for way in ways {
                if way.isLocal || way.interface == interface || way.interface.map(tunnels.contains) ?? false {
                    continue
                }
                passing.append(way)
                if way.interface != nil, way.length <= prefix.length { isDiverted = true }
            }
            guard isDiverted || passing.count == ways.count, let first = passing.first else { continue }
            let other = passing.first { $0.interface != nil } ?? first
            let name = try other.interface.flatMap { (index) throws(NetlinkError) in try link(index: index)?.name }
            diversions.append(RouteDiversion(prefix: prefix, interface: name))
        }
        return diversions
    }

    private struct Way {
        /// Nil where the packet goes nowhere.
        var interface: UInt32?
        /// Of the prefix of the route that takes it.
        var length = 0
        /// Whether the address is the machine's own.
        var isLocal = false
    }

    private func way(to address: IPAddress) throws(NetlinkError) -> Way {
        // The route itself, with the length of its prefix.
        guard let answer = try route(to: address, UInt32(RTM_F_FIB_MATCH)) else { return Way() }
        let (header, attributes) = try answer.read(rtmsg.self)
        let type = Int(header.rtm_type)
        let isLocal = type == Int(RTN_LOCAL)
        guard isLocal || type == Int(RTN_UNICAST) || type == Int(RTN_BROADCAST) else { return Way() }
        return Way(
            interface: attributes.number(RTA_OIF.rawValue),
            length: Int(header.rtm_dst_len),
            isLocal: isLocal
        )
    }
}

extension IPPrefix {
    fileprivate var isMulticast: Bool {
        switch address {
        case .v4(let v4): length >= 4 && v4.value >> 28 == 0xe
        case .v6(let v6): length >= 8 && v6.high >> 56 == 0xff
        }
    }

    /// Up to four addresses spread over the prefix; of all IPv6 the part that is in use (2000::/3, RFC 4291, section 2.4).
    var probes: [IPAddress] {
        switch address {
        case .v4(let v4):
            let host: UInt32 = length >= 32 ? 0 : ~0 >> UInt32(length)
            return Self.spread(bits: 32 - length).map { spread in
                .v4(IPv4Address(v4.value & ~host | UInt32(spread >> 32) >> UInt32(length) & host))
            }
        case .v6(let v6):
            let high: UInt64 = length == 0 ? 0x2000_0000_0000_0000 : v6.high
            let length = max(length, 3)
            let highHost: UInt64 = length >= 64 ? 0 : ~0 >> UInt64(length)
            let lowHost: UInt64 = length >= 128 ? 0 : length <= 64 ? ~0 : ~0 >> UInt64(length - 64)
            return Self.spread(bits: 128 - length).map { spread in
                let inHigh = length >= 64 ? 0 : spread >> UInt64(length)
                let inLow = length < 64 ? 0x5555_5555_5555_5555 : length >= 128 ? 0 : spread >> UInt64(length - 64)
                return .v6(
                    IPv6Address(high: high & ~highHost | inHigh & highHost, low: v6.low & ~lowHost | inLow & lowHost)
                )
            }
        }
    }

    /// The first two of so many host bits counted through, with a pattern behind that no broadcast address has.
    private static func spread(bits: Int) -> [UInt64] {
        let free = min(bits, 2)
        return (0..<(1 << UInt64(free))).map { $0 << UInt64(64 - free) | 0x5555_5555_5555_5555 >> UInt64(free) }
    }
}
