import CShims
import Glibc
import Netlink
package import NetworkTypes

/// A prefix of a tunnel that the kernel sends another way, by a rule or a route of somebody else's.
package struct RouteDiversion: Hashable, Sendable {
    package let prefix: IPPrefix
    /// The name of the link that its packets go to; nil where they go nowhere.
    package let interface: String?
    /// Whether that is another tunnel of ours: of several the last one started has the default route.
    package let isIntoTunnel: Bool

    package init(prefix: IPPrefix, interface: String?, isIntoTunnel: Bool = false) {
        self.prefix = prefix
        self.interface = interface
        self.isIntoTunnel = isIntoTunnel
    }

    /// How many prefixes beside the defaults are asked about: each costs some system calls.
    static let limit = 16
}

extension KernelTables {
    /// Asks the kernel which way a packet without our mark goes to some addresses of each prefix.
    ///
    /// What goes by a more specific route than the prefix is the machine's own business (its local networks), unless all
    /// of the prefix does.
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
            let passing = ways.filter { !$0.isLocal && $0.interface != interface }
            let isTunnels = { (way: Way) in way.interface.map(tunnels.contains) ?? false }
            // What goes round all tunnels is the worse of the two.
            for isIntoTunnel in [false, true] {
                guard let way = prefix.diversion(by: passing.filter { isTunnels($0) == isIntoTunnel }, of: ways.count)
                else { continue }
                let name = try way.interface.flatMap { (index) throws(NetlinkError) in try link(index: index)?.name }
                diversions.append(RouteDiversion(prefix: prefix, interface: name, isIntoTunnel: isIntoTunnel))
                break
            }
        }
        return diversions
    }

    fileprivate struct Way {
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

    /// The way by which the prefix is led elsewhere; nil where these are but more specific routes to parts of it.
    fileprivate func diversion(by passing: [KernelTables.Way], of count: Int) -> KernelTables.Way? {
        let isDiverted = passing.contains { $0.interface != nil && $0.length <= length }
        guard isDiverted || passing.count == count else { return nil }
        return passing.first { $0.interface != nil } ?? passing.first
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
