import Netlink
import NetworkTypes

/// Whether outer packets have an address of this machine to come from.
///
/// A tunnel's own address is none: what answers to it would have to come through the tunnel.
enum OuterSource {
    /// Judges the source that the kernel names for packets to an endpoint.
    ///
    /// - Parameters:
    ///   - source: nil: it has none.
    ///   - own: addresses that only tunnels have, or are about to have.
    static func isUsable(_ source: IPAddress?, to endpoint: IPAddress, own: Set<IPAddress>) -> Bool {
        let isRival = own.contains { $0.isIPv6 == endpoint.isIPv6 && !$0.isLinkLocal }
        // As soon as a tunnel has one, the kernel takes it instead of none, and instead of one that leads no further than
        // the link (RFC 6724, section 5, rule 2).
        guard let source else { return !isRival }
        if source.isLinkLocal, !endpoint.isLinkLocal { return !isRival }
        return !own.contains(source)
    }
}

extension KernelTables {
    /// The addresses that no other link than a tunnel's has.
    ///
    /// - Parameter coming: those that are about to be a tunnel's, too.
    func tunnelAddresses(
        _ tunnels: OwnInterfaces,
        coming: [IPAddress] = []
    ) throws(NetlinkError) -> Set<IPAddress> {
        let all = try addresses()
        let own = all.filter { tunnels.contains($0.interface) }.map(\.prefix.address)
        let others = all.filter { !tunnels.contains($0.interface) }.map(\.prefix.address)
        return Set(own + coming).subtracting(others)
    }
}

extension IPAddress {
    /// Only IPv6 has addresses that the kernel takes for less than others (RFC 4007).
    fileprivate var isLinkLocal: Bool {
        switch self {
        case .v4: false
        case .v6(let v6): v6.isLinkLocal
        }
    }
}
