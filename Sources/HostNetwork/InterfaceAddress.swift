import CShims
import Glibc
package import Netlink
package import NetworkTypes

/// An address of an interface.
package struct InterfaceAddress: Hashable, Sendable, Codable {
    package let interface: UInt32
    /// With its host bits: "10.0.0.2/24".
    @TextCoded package var prefix: IPPrefix
    /// Whether the kernel leaves out the route to the prefix that it else adds to the main table.
    package let withoutPrefixRoute: Bool

    package init(interface: UInt32, prefix: IPPrefix, withoutPrefixRoute: Bool = false) {
        self.interface = interface
        self._prefix = TextCoded(wrappedValue: prefix)
        self.withoutPrefixRoute = withoutPrefixRoute
    }

    /// Reads an `RTM_NEWADDR`; nil for a family that isn't IP.
    package init?(_ message: NetlinkMessage) throws(NetlinkError) {
        let (header, attributes) = try message.read(ifaddrmsg.self)
        // On a point-to-point link IFA_ADDRESS is the other end's and IFA_LOCAL ours.
        guard let bytes = attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS],
            let address = IPAddress(bytes: bytes),
            let prefix = IPPrefix(address, length: Int(header.ifa_prefixlen))
        else { return nil }
        let flags = attributes.number(IFA_FLAGS, as: UInt32.self) ?? UInt32(header.ifa_flags)
        self.init(
            interface: header.ifa_index,
            prefix: prefix,
            withoutPrefixRoute: flags & UInt32(IFA_F_NOPREFIXROUTE) != 0
        )
    }

    /// A request that adds the address; IPv6 without duplicate address detection, since a tunnel has no neighbours.
    package var add: NetlinkRequest {
        NetlinkRequest(RTM_NEWADDR, [.create, .exclusive]) { write(into: &$0) }
    }

    package var delete: NetlinkRequest { NetlinkRequest(RTM_DELADDR) { write(into: &$0) } }

    /// Dumps the addresses of one interface.
    package static func dump(interface: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_GETADDR) {
            var header = ifaddrmsg()
            header.ifa_family = UInt8(AF_UNSPEC)
            header.ifa_index = interface
            $0.header(header)
        }
    }

    private func write(into writer: inout NetlinkWriter) {
        var header = ifaddrmsg()
        header.ifa_family = prefix.address.family
        header.ifa_prefixlen = UInt8(prefix.length)
        header.ifa_scope = UInt8(RT_SCOPE_UNIVERSE.rawValue)
        header.ifa_index = interface
        writer.header(header)
        writer.put(IFA_LOCAL, bytes: prefix.address.bytes)
        writer.put(IFA_ADDRESS, bytes: prefix.address.bytes)
        let flags = (prefix.address.isIPv6 ? IFA_F_NODAD : 0) | (withoutPrefixRoute ? IFA_F_NOPREFIXROUTE : 0)
        writer.put(IFA_FLAGS, UInt32(flags))
    }
}

extension IPAddress {
    /// `AF_INET` or `AF_INET6`.
    var family: UInt8 { UInt8(isIPv6 ? AF_INET6 : AF_INET) }
}
