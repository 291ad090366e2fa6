import NetworkTypes

/// The size of a tunnel's inner packets.
package enum TunnelMTU {
    /// An IPv4 or IPv6 header, a UDP header and WireGuard's 32 bytes (whitepaper, section 5.4.6).
    package static let overIPv4 = 20 + 8 + 32
    package static let overIPv6 = 40 + 8 + 32

    /// With no path known: what fits Ethernet over IPv6.
    package static let standard = 1500 - overIPv6

    /// RFC 791: every link carries as much.
    static let minimum = 68
    /// RFC 8200, section 5: IPv6 does not work below.
    static let minimumForIPv6 = 1280
    /// The largest UDP datagram over IPv4 (65,507 bytes) without WireGuard's 32, down to a multiple of its padding.
    static let maximum = (65_507 - 32) / 16 * 16
    /// What the kernel lets a TUN device have (ETH_MAX_MTU).
    static let maximumOfLink = 65_535

    /// The path to an endpoint as its route tells it.
    package struct Path: Hashable, Sendable {
        package let mtu: Int
        package let isIPv6: Bool

        package init(mtu: Int, isIPv6: Bool) {
            self.mtu = mtu
            self.isIPv6 = isIPv6
        }

        /// The same where it carries no more than `limit`, if that is given.
        package func limited(to limit: Int?) -> Path { Path(mtu: min(mtu, limit ?? mtu), isIPv6: isIPv6) }
    }

    /// What fits all paths.
    package static func automatic(_ paths: [Path]) -> Int {
        let least = paths.map { $0.mtu - ($0.isIPv6 ? overIPv6 : overIPv4) }.min() ?? standard
        return min(least, maximum)
    }

    /// The MTU to set, from what was asked for and from the paths.
    static func decide(
        explicit: Int?,
        paths: [Path]
    ) throws(NetworkSettingsError) -> (mtu: Int, note: NetworkNote?) {
        guard let explicit else {
            let mtu = automatic(paths)
            guard mtu >= minimum else {
                throw NetworkSettingsError(
                    .invalidMTU,
                    "Cannot set the MTU of the tunnel.",
                    why: "The path to the endpoint leaves \(mtu) bytes for a packet; the least is \(minimum).",
                    remedy: "Use a network with a larger MTU, or state the MTU in the configuration."
                )
            }
            return (mtu, nil)
        }
        guard (minimum...maximumOfLink).contains(explicit) else {
            throw NetworkSettingsError(
                .invalidMTU,
                "Cannot set the MTU of the tunnel to \(explicit).",
                why: "An MTU is between \(minimum) and \(maximumOfLink).",
                remedy: "Correct the MTU in the configuration, or leave it out to have it found."
            )
        }
        guard explicit > maximum else { return (explicit, nil) }
        let note = NetworkNote(
            .mtuCapped,
            "MTU \(maximum) instead of \(explicit): a larger packet doesn't fit an outer datagram."
        )
        return (maximum, note)
    }
}
