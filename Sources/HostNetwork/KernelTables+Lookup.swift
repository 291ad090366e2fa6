import CShims
import Glibc
package import Netlink
package import NetworkTypes

/// The way that a packet to an address would take.
package struct RouteLookup: Hashable, Sendable {
    package let interface: UInt32
    /// The address that the kernel would send from.
    package let source: IPAddress?
    package let gateway: IPAddress?
    /// What the route or a "packet too big" on the way said; nil for "as the link".
    package let mtu: Int?
    package let table: UInt32
    /// For how long that holds; nil where nothing ends it.
    package let lifetime: Interval?

    /// What a packet may have, given the link's MTU.
    func mtu(over link: Int) -> Int { min(mtu.flatMap { $0 > 0 ? $0 : nil } ?? link, link) }
}

extension KernelTables {
    /// Asks the kernel where a packet with our mark goes: the way of the outer packets.
    ///
    /// - Parameter port: the one that they come from, by which those of a nested tunnel are told.
    /// - Returns: nil where no route leads there.
    package func lookUp(
        _ address: IPAddress,
        mark: UInt32 = Ownership.outerMark | Ownership.questionMark,
        zone: UInt32 = 0,
        port: UInt16? = nil
    ) throws(NetlinkError) -> RouteLookup? {
        // IPv6 tells the table unasked and knows no such flag.
        let flags = address.isIPv6 ? 0 : UInt32(RTM_F_LOOKUP_TABLE)
        guard let answer = try route(to: address, flags, mark: mark, zone: zone, port: port) else { return nil }
        let (header, attributes) = try answer.read(rtmsg.self)
        // IPv6 answers with the route itself where it leads nowhere.
        guard let interface: UInt32 = attributes.number(RTA_OIF.rawValue),
            [Int(RTN_UNICAST), Int(RTN_LOCAL)].contains(Int(header.rtm_type))
        else { return nil }
        let mtu: UInt32? = try attributes.nested(RTA_METRICS.rawValue)?.number(RTAX_MTU)
        return RouteLookup(
            interface: interface,
            source: try attributes.address(RTA_PREFSRC.rawValue),
            gateway: try attributes.address(RTA_GATEWAY.rawValue),
            mtu: mtu.map { Int($0) },
            table: attributes.number(RTA_TABLE.rawValue) ?? UInt32(header.rtm_table),
            lifetime: attributes.value(RTA_CACHEINFO.rawValue, as: rta_cacheinfo.self).flatMap(lifetime)
        )
    }

    private func lifetime(_ info: rta_cacheinfo) -> Interval? {
        // In hundredths of a second for all programs (USER_HZ; time(7)).
        info.rta_expires > 0 ? .milliseconds(Int(info.rta_expires) * 10) : nil
    }

    /// The kernel's answer to where a packet goes; nil where no route leads there.
    func route(
        to address: IPAddress,
        _ flags: UInt32,
        mark: UInt32 = 0,
        zone: UInt32 = 0,
        port: UInt16? = nil
    ) throws(NetlinkError) -> NetlinkMessage? {
        let request = NetlinkRequest(RTM_GETROUTE) {
            var header = rtmsg()
            header.rtm_family = address.family
            header.rtm_dst_len = UInt8(address.bitCount)
            header.rtm_flags = flags
            $0.header(header)
            $0.put(RTA_DST.rawValue, bytes: address.bytes)
            if mark != 0 { $0.put(RTA_MARK.rawValue, mark) }
            if zone != 0 { $0.put(RTA_OIF.rawValue, zone) }
            if let port {
                $0.put(RTA_IP_PROTO.rawValue, UInt8(IPPROTO_UDP))
                $0.put(RTA_SPORT.rawValue, port.bigEndian)
            }
        }
        do throws(NetlinkError) {
            return try socket.request(request).first
        } catch {
            guard error.meansNoRoute else { throw error }
            return nil
        }
    }

    /// The largest packet that the path to an endpoint is known to carry; nil where no route leads there.
    package func pathMTU(to endpoint: Endpoint) throws(NetlinkError) -> TunnelMTU.Path? {
        guard let found = try lookUp(endpoint.address, zone: endpoint.zone),
            let link = try link(index: found.interface)
        else { return nil }
        return TunnelMTU.Path(mtu: found.mtu(over: link.mtu), isIPv6: endpoint.address.isIPv6)
    }
}

extension NetlinkError {
    /// Whether the kernel says that a packet would get nowhere.
    var meansNoRoute: Bool {
        // EINVAL is IPv4's answer for a blackhole (`fib_props` of net/ipv4/fib_semantics.c).
        [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, EAFNOSUPPORT, EOPNOTSUPP, ENODEV].contains(code)
    }
}
