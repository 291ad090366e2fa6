import CShims

/// The names of routing protocols, as ip-route(8) shows them.
enum RouteOwner {
    private static let names: [Int32: String] = [
        RTPROT_KERNEL: "the kernel (an address's own network)",
        RTPROT_BOOT: "hand or a script (protocol boot)",
        RTPROT_STATIC: "the administrator (protocol static)",
        RTPROT_RA: "router advertisements",
        RTPROT_DHCP: "DHCP",
        RTPROT_ZEBRA: "zebra",
        RTPROT_BIRD: "bird",
        RTPROT_BABEL: "babel",
        RTPROT_BGP: "BGP",
        RTPROT_OSPF: "OSPF",
    ]

    static func name(_ protocolNumber: UInt8) -> String {
        names[Int32(protocolNumber)] ?? "routing protocol \(protocolNumber)"
    }
}
