import CShims
import Glibc
import Netlink
package import NetworkTypes

/// A way to everywhere that no other route leads to.
package struct DefaultRoute: Hashable, Sendable {
    package var isIPv6: Bool
    package var interface: UInt32
    /// Nil for a link that needs none; one of the other family is possible (RFC 5549).
    package var gateway: IPAddress?
    /// The lower is preferred.
    package var metric: UInt32

    package init(isIPv6: Bool, interface: UInt32, gateway: IPAddress? = nil, metric: UInt32 = 0) {
        self.isIPv6 = isIPv6
        self.interface = interface
        self.gateway = gateway
        self.metric = metric
    }
}

extension DefaultRoute {
    /// The default routes of the main table, in the order in which the kernel prefers them; ours don't count.
    static func all(_ socket: any NetlinkSocket) throws(NetlinkError) -> [DefaultRoute] {
        var all: [DefaultRoute] = []
        for isIPv6 in [false, true] {
            let messages: [NetlinkMessage]
            do throws(NetlinkError) {
                messages = try socket.dump(KernelRoute.dump(.init(isIPv6: isIPv6, table: Route.mainTable)))
            } catch {
                // No such table yet, or no such family in this kernel.
                guard [ENOENT, EAFNOSUPPORT, EOPNOTSUPP].contains(error.code) else { throw error }
                continue
            }
            all += try inOrder(messages, isIPv6: isIPv6)
        }
        return all
    }

    /// Picks the default routes out of what a dump of routes shows.
    static func inOrder(_ messages: [NetlinkMessage], isIPv6: Bool) throws(NetlinkError) -> [DefaultRoute] {
        var found: [(route: DefaultRoute, rank: Int)] = []
        for message in messages {
            let (header, attributes) = try message.read(rtmsg.self)
            guard Int32(header.rtm_family) == (isIPv6 ? AF_INET6 : AF_INET), header.rtm_dst_len == 0,
                Int(header.rtm_type) == Int(RTN_UNICAST), header.rtm_flags & UInt32(RTM_F_CLONED) == 0,
                header.rtm_protocol != Ownership.routingProtocol,
                attributes.number(RTA_TABLE.rawValue) ?? UInt32(header.rtm_table) == Route.mainTable
            else { continue }
            let metric: UInt32 = attributes.number(RTA_PRIORITY.rawValue) ?? 0
            let rank = rank(attributes.number(RTA_PREF.rawValue, as: UInt8.self) ?? 0)
            for hop in try hops(attributes) {
                let route = DefaultRoute(
                    isIPv6: isIPv6,
                    interface: hop.interface,
                    gateway: hop.gateway,
                    metric: metric
                )
                found.append((route, rank))
            }
        }
        // Where both are the same, the kernel's own order counts.
        return found.enumerated().sorted { a, b in
            (a.element.route.metric, a.element.rank, a.offset) < (b.element.route.metric, b.element.rank, b.offset)
        }.map(\.element.route)
    }

    /// A router's own preference (RFC 4191, section 2.1): 1 is high, 0 medium, 3 low.
    private static func rank(_ preference: UInt8) -> Int {
        switch preference {
        case 1: 0
        case 3: 2
        default: 1
        }
    }

    private static func hops(
        _ attributes: NetlinkAttributes
    ) throws(NetlinkError) -> [(interface: UInt32, gateway: IPAddress?)] {
        if var rest = attributes[RTA_MULTIPATH.rawValue] {
            var hops: [(interface: UInt32, gateway: IPAddress?)] = []
            let size = MemoryLayout<rtnexthop>.size
            while rest.count >= size {
                let hop = try rest.loaded(rtnexthop.self)
                let length = Int(hop.rtnh_len)
                guard length >= size, length <= rest.count else {
                    throw .malformed("next hop length \(length) with \(rest.count) bytes left")
                }
                let own = try NetlinkAttributes(rest.dropFirst(size).prefix(length - size))
                hops.append((UInt32(bitPattern: hop.rtnh_ifindex), try gateway(own)))
                rest = rest.dropFirst((length + 3) & ~3)
            }
            return hops
        }
        guard let interface: UInt32 = attributes.number(RTA_OIF.rawValue) else { return [] }
        return [(interface, try gateway(attributes))]
    }

    private static func gateway(_ attributes: NetlinkAttributes) throws(NetlinkError) -> IPAddress? {
        if let address = try attributes.address(RTA_GATEWAY.rawValue) { return address }
        // `rtvia` of linux/rtnetlink.h: the family in two bytes, then the address.
        return attributes[RTA_VIA.rawValue].flatMap { IPAddress(bytes: $0.dropFirst(2)) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func loaded<Value: BitwiseCopyable>(_ type: Value.Type) throws(NetlinkError) -> Value {
        guard count >= MemoryLayout<Value>.size else { throw .malformed("\(count) bytes are too few") }
        return unsafe withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
    }
}
