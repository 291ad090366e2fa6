import CShims
import Glibc
package import Netlink
package import NetworkTypes

/// A label of our own on an IPv6 address of a tunnel, by which the kernel prefers every other address as the source of what
/// doesn't leave by the tunnel itself.
///
/// Without it, where the link to the gateway has only a link-local address, the kernel takes whichever address of the machine
/// has the most bits in common with the destination, and that may be the tunnel's (RFC 6724, section 5, rules 6 and 8). For
/// what goes into the tunnel rule 5, the outgoing interface, decides before. The kernel keeps a label when its link goes.
package struct AddressLabel: Hashable, Sendable, Codable {
    package let interface: UInt32
    @TextCoded package var address: IPAddress

    package init(interface: UInt32, address: IPAddress) {
        self.interface = interface
        self._address = TextCoded(wrappedValue: address)
    }

    /// Reads an `RTM_NEWADDRLABEL`; nil for one that isn't ours.
    package init?(_ message: NetlinkMessage) throws(NetlinkError) {
        let (header, attributes) = try message.read(ifaddrlblmsg.self)
        guard attributes.number(IFAL_LABEL) == Ownership.addressLabel, header.ifal_index != 0,
            let address = try attributes.address(IFAL_ADDRESS), Int(header.ifal_prefixlen) == address.bitCount
        else { return nil }
        self.init(interface: header.ifal_index, address: address)
    }

    package var add: NetlinkRequest {
        NetlinkRequest(RTM_NEWADDRLABEL, [.create, .exclusive]) { write(into: &$0) }
    }

    package var delete: NetlinkRequest { NetlinkRequest(RTM_DELADDRLABEL) { write(into: &$0) } }

    package static var dump: NetlinkRequest {
        NetlinkRequest(RTM_GETADDRLABEL) {
            var header = ifaddrlblmsg()
            header.ifal_family = UInt8(AF_INET6)
            $0.header(header)
        }
    }

    private func write(into writer: inout NetlinkWriter) {
        var header = ifaddrlblmsg()
        header.ifal_family = address.family
        header.ifal_prefixlen = UInt8(address.bitCount)
        header.ifal_index = interface
        writer.header(header)
        writer.put(IFAL_ADDRESS, bytes: address.bytes)
        writer.put(IFAL_LABEL, Ownership.addressLabel)
    }
}

extension InterfaceAddress {
    /// The label that it gets; nil for IPv4, which has none, and for one that the kernel never takes for another link.
    var label: AddressLabel? {
        guard case .v6(let v6) = prefix.address, !v6.isLinkLocal else { return nil }
        return AddressLabel(interface: interface, address: prefix.address)
    }
}

extension KernelTables {
    /// Our labels on IPv6 addresses; nil where the kernel has none to give.
    func addressLabels() -> Set<AddressLabel>? {
        guard let messages = try? socket.dump(AddressLabel.dump) else { return nil }
        return Set(messages.compactMap { try? AddressLabel($0) })
    }
}
