import CShims
import Glibc
package import Netlink
package import NetworkTypes

/// A route of ours: a prefix that leads into an interface, or nowhere.
package struct Route: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable {
        case unicast, unreachable
    }

    @TextCoded package var destination: IPPrefix
    package let table: UInt32
    /// The lower is preferred; IPv6 has no 0.
    package let metric: UInt32
    package let kind: Kind
    /// The interface's index; nil for one that leads nowhere.
    package let interface: UInt32?

    package static let mainTable = UInt32(RT_TABLE_MAIN.rawValue)
    /// Of all routes to the same prefix the last that is looked at.
    package static let lowestPreference = UInt32.max

    /// A route into an interface, with the metric that a route added by hand would have.
    package init(to destination: IPPrefix, interface: UInt32, table: UInt32 = Route.mainTable) {
        self.init(
            destination: destination,
            table: table,
            metric: destination.address.isIPv6 ? UInt32(1024) : 0,  // IP6_RT_PRIO_USER, linux/ipv6_route.h
            kind: .unicast,
            interface: interface
        )
    }

    /// What catches packets that no other route of the table takes.
    package init(unreachable destination: IPPrefix, table: UInt32) {
        self.init(
            destination: destination,
            table: table,
            metric: Route.lowestPreference,
            kind: .unreachable,
            interface: nil
        )
    }

    init(destination: IPPrefix, table: UInt32, metric: UInt32, kind: Kind, interface: UInt32?) {
        self._destination = TextCoded(wrappedValue: destination.network)
        self.table = table
        self.metric = metric
        self.kind = kind
        self.interface = interface
    }

    package var add: NetlinkRequest {
        // In a table of our own, ahead of the main one, a route of the link's scope would catch what the kernel looks up when
        // somebody adds a route by its gateway alone: that would lead into the tunnel, and go with it (fib_check_nh).
        let isOnLink = kind == .unicast && !destination.address.isIPv6 && table == Route.mainTable
        let scope = isOnLink ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE
        return NetlinkRequest(RTM_NEWROUTE, [.create, .exclusive]) { write(into: &$0, scope: scope) }
    }

    /// Takes away this route and none of another owner: the kernel compares the protocol too.
    package var delete: NetlinkRequest {
        NetlinkRequest(RTM_DELROUTE) { write(into: &$0, scope: RT_SCOPE_NOWHERE) }
    }

    private func write(into writer: inout NetlinkWriter, scope: rt_scope_t) {
        var header = rtmsg()
        header.rtm_family = destination.address.family
        header.rtm_dst_len = UInt8(destination.length)
        header.rtm_table = UInt8(RT_TABLE_UNSPEC.rawValue)
        header.rtm_protocol = Ownership.routingProtocol
        header.rtm_scope = UInt8(scope.rawValue)
        header.rtm_type = UInt8(kind == .unicast ? RTN_UNICAST : RTN_UNREACHABLE)
        writer.header(header)
        if destination.length > 0 { writer.put(RTA_DST.rawValue, bytes: destination.address.bytes) }
        writer.put(RTA_TABLE.rawValue, table)
        if metric != 0 { writer.put(RTA_PRIORITY.rawValue, metric) }
        if let interface { writer.put(RTA_OIF.rawValue, interface) }
    }
}

/// A route as it stands in the kernel, whoever made it.
package struct KernelRoute: Hashable, Sendable {
    package let route: Route
    /// `rtm_protocol`: who made it (/etc/iproute2/rt_protos).
    package let owner: UInt8
    package let gateway: IPAddress?
    /// Whether it is a cached exception and no configured route.
    package let isCloned: Bool

    package init(_ route: Route, owner: UInt8, gateway: IPAddress? = nil, isCloned: Bool = false) {
        self.route = route
        self.owner = owner
        self.gateway = gateway
        self.isCloned = isCloned
    }

    package var isOurs: Bool { owner == Ownership.routingProtocol }

    /// Whose routes tell what is on a link: the kernel's, and those made for router advertisements.
    static let ownersOfLinkNetworks = [UInt8(RTPROT_KERNEL), UInt8(RTPROT_RA)]

    /// Whether it leads to a link's own network.
    var isOnLink: Bool {
        gateway == nil && route.kind == .unicast && route.destination.length > 0
            && Self.ownersOfLinkNetworks.contains(owner)
    }

    /// Reads an `RTM_NEWROUTE`; nil for one that neither leads to a link nor says "unreachable" (multicast, local, …).
    package init?(_ message: NetlinkMessage) throws(NetlinkError) {
        let (header, attributes) = try message.read(rtmsg.self)
        let isIPv6 = Int32(header.rtm_family) == AF_INET6
        guard isIPv6 || Int32(header.rtm_family) == AF_INET else { return nil }
        let kind: Route.Kind
        switch Int(header.rtm_type) {
        case Int(RTN_UNICAST): kind = .unicast
        case Int(RTN_UNREACHABLE): kind = .unreachable
        default: return nil
        }
        let address = try attributes.address(RTA_DST.rawValue) ?? (isIPv6 ? .v6(.any) : .v4(.any))
        guard let destination = IPPrefix(address, length: Int(header.rtm_dst_len)) else {
            throw .malformed("a route to \(address)/\(header.rtm_dst_len)")
        }
        self.init(
            Route(
                destination: destination,
                table: attributes.number(RTA_TABLE.rawValue) ?? UInt32(header.rtm_table),
                metric: attributes.number(RTA_PRIORITY.rawValue) ?? 0,
                kind: kind,
                // The kernel shows IPv6 routes that lead nowhere on the loopback interface.
                interface: kind == .unicast ? attributes.number(RTA_OIF.rawValue) : nil
            ),
            owner: header.rtm_protocol,
            gateway: try attributes.address(RTA_GATEWAY.rawValue),
            isCloned: header.rtm_flags & UInt32(RTM_F_CLONED) != 0
        )
    }

    /// What part of the tables a dump shows; the kernel does the choosing.
    package struct Filter: Hashable, Sendable {
        package var isIPv6: Bool
        package var table: UInt32?
        package var owner: UInt8?
        package var interface: UInt32?

        package init(isIPv6: Bool, table: UInt32? = nil, owner: UInt8? = nil, interface: UInt32? = nil) {
            self.isIPv6 = isIPv6
            self.table = table
            self.owner = owner
            self.interface = interface
        }
    }

    package static func dump(_ filter: Filter) -> NetlinkRequest {
        NetlinkRequest(RTM_GETROUTE) {
            var header = rtmsg()
            header.rtm_family = UInt8(filter.isIPv6 ? AF_INET6 : AF_INET)
            header.rtm_protocol = filter.owner ?? 0
            $0.header(header)
            if let table = filter.table { $0.put(RTA_TABLE.rawValue, table) }
            if let interface = filter.interface { $0.put(RTA_OIF.rawValue, interface) }
        }
    }
}

extension NetlinkAttributes {
    /// An address of 4 or 16 bytes; nil if absent.
    func address(_ type: some BinaryInteger) throws(NetlinkError) -> IPAddress? {
        guard let bytes = self[type] else { return nil }
        guard let address = IPAddress(bytes: bytes) else { throw .malformed("an address of \(bytes.count) bytes") }
        return address
    }
}
