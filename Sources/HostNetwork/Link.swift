import CShims
import Glibc
package import Netlink

/// A network interface as the kernel describes it.
package struct Link: Hashable, Sendable {
    package let index: UInt32
    package let name: String
    /// `IFF_UP` and the like (netdevice(7)).
    package let flags: UInt32
    package let mtu: Int
    /// The driver: "tun", "wireguard", "veth"; nil for hardware.
    package let kind: String?
    /// `ARPHRD_ETHER` and the like (net/if_arp.h).
    package let hardwareType: UInt16
    /// Six bytes for Ethernet; empty where it has none.
    package let hardwareAddress: [UInt8]
    package let statistics: LinkStatistics
    /// The user that may attach to it, where it is a TUN device made for one.
    package let tunOwner: UInt32?

    package init(
        index: UInt32,
        name: String,
        flags: UInt32,
        mtu: Int,
        kind: String? = nil,
        hardwareType: UInt16 = UInt16(ARPHRD_ETHER),
        hardwareAddress: [UInt8] = [],
        statistics: LinkStatistics = LinkStatistics(),
        tunOwner: UInt32? = nil
    ) {
        self.index = index
        self.name = name
        self.flags = flags
        self.mtu = mtu
        self.kind = kind
        self.hardwareType = hardwareType
        self.hardwareAddress = hardwareAddress
        self.statistics = statistics
        self.tunOwner = tunOwner
    }

    package var isUp: Bool { flags & UInt32(IFF_UP) != 0 }
    /// Whether it is up and carries packets: a cable is plugged in, a network joined.
    package var isRunning: Bool { isUp && flags & UInt32(IFF_RUNNING) != 0 }
    package var isLoopback: Bool { flags & UInt32(IFF_LOOPBACK) != 0 }

    /// Reads an `RTM_NEWLINK`.
    package init(_ message: NetlinkMessage) throws(NetlinkError) {
        let (header, attributes) = try message.read(ifinfomsg.self)
        guard let name = attributes.string(IFLA_IFNAME) else { throw .malformed("a link without a name") }
        let information = try attributes.nested(IFLA_LINKINFO)
        let kind = information?.string(IFLA_INFO_KIND)
        let stats = attributes.value(IFLA_STATS64, as: rtnl_link_stats64.self)
        self.init(
            index: UInt32(bitPattern: header.ifi_index),
            name: name,
            flags: header.ifi_flags,
            mtu: Int(attributes.number(IFLA_MTU, as: UInt32.self) ?? 0),
            kind: kind,
            hardwareType: header.ifi_type,
            hardwareAddress: attributes[IFLA_ADDRESS].map(Array.init) ?? [],
            statistics: stats.map(LinkStatistics.init) ?? LinkStatistics(),
            tunOwner: kind == "tun" ? try information?.nested(IFLA_INFO_DATA)?.number(IFLA_TUN_OWNER) : nil
        )
    }
}

/// What an interface has counted since it was made (`rtnl_link_stats64`); a super-packet counts once.
package struct LinkStatistics: Hashable, Sendable {
    package var receivedBytes: UInt64 = 0
    package var receivedPackets: UInt64 = 0
    package var receivedDropped: UInt64 = 0
    package var receivedErrors: UInt64 = 0
    package var sentBytes: UInt64 = 0
    package var sentPackets: UInt64 = 0
    package var sentDropped: UInt64 = 0
    package var sentErrors: UInt64 = 0

    package init() {}

    fileprivate init(_ stats: rtnl_link_stats64) {
        receivedBytes = stats.rx_bytes
        receivedPackets = stats.rx_packets
        receivedDropped = stats.rx_dropped
        receivedErrors = stats.rx_errors
        sentBytes = stats.tx_bytes
        sentPackets = stats.tx_packets
        sentDropped = stats.tx_dropped
        sentErrors = stats.tx_errors
    }
}

/// The requests about links.
extension Link {
    package static func get(index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_GETLINK) { $0.header(ifinfomsg(index: index)) }
    }

    package static func get(name: String) -> NetlinkRequest {
        NetlinkRequest(RTM_GETLINK) {
            $0.header(ifinfomsg(index: 0))
            $0.put(IFLA_IFNAME, string: name)
        }
    }

    package static func setMTU(_ mtu: Int, index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_NEWLINK) {
            $0.header(ifinfomsg(index: index))
            $0.put(IFLA_MTU, UInt32(clamping: mtu))
        }
    }

    /// Switches the link on, as a link without multicast: the kernel's own reports would wake an idle tunnel.
    package static func setUp(index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_NEWLINK) {
            var header = ifinfomsg(index: index)
            header.ifi_flags = UInt32(IFF_UP)
            header.ifi_change = UInt32(IFF_UP | IFF_MULTICAST)
            $0.header(header)
        }
    }

    package static func setDown(index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_NEWLINK) {
            var header = ifinfomsg(index: index)
            header.ifi_change = UInt32(IFF_UP)
            $0.header(header)
        }
    }

    /// Keeps the kernel from making up a link-local IPv6 address, with which it would look for routers.
    package static func withoutLinkLocalAddress(index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_NEWLINK) {
            $0.header(ifinfomsg(index: index))
            $0.nest(IFLA_AF_SPEC) {
                $0.nest(AF_INET6) { $0.put(IFLA_INET6_ADDR_GEN_MODE, UInt8(IN6_ADDR_GEN_MODE_NONE.rawValue)) }
            }
        }
    }

    /// Limits the super-packets that the stack hands to the link: bytes and segments.
    package static func setOffloadLimit(bytes: UInt32, segments: UInt32, index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_NEWLINK) {
            $0.header(ifinfomsg(index: index))
            $0.put(IFLA_GSO_MAX_SIZE, bytes)
            $0.put(IFLA_GSO_MAX_SEGS, segments)
        }
    }

    package static func delete(index: UInt32) -> NetlinkRequest {
        NetlinkRequest(RTM_DELLINK) { $0.header(ifinfomsg(index: index)) }
    }
}

extension ifinfomsg {
    init(index: UInt32) {
        self.init()
        ifi_family = UInt8(AF_UNSPEC)
        ifi_index = Int32(bitPattern: index)
    }
}
