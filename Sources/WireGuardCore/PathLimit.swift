package import NetworkTypes

/// How long a packet may be so that the datagram that carries it passes the path to a peer whole, as far as it is known.
///
/// What a path was said to take is believed for a while only: it may have become wider, and anybody can forge ICMP.
package struct PathLimit: Sendable, Equatable {
    /// As long as Linux keeps a path's MTU (net.ipv4.route.mtu_expires).
    package static let lifetime = Interval.seconds(600)
    /// What a datagram has around the packet that it carries: IP and UDP header, and those of a transport message.
    package static func overhead(isIPv6: Bool) -> Int {
        (isIPv6 ? 40 : 20) + 8 + TransportHeader.byteCount + TransportHeader.tagSize
    }

    /// In bytes; `Int.max` where nothing is known.
    package private(set) var longest = Int.max
    private var expiry = Instant.distantFuture

    package init() {}

    /// Learns the path's MTU, outer IP header included.
    package mutating func narrow(toMTU mtu: Int, isIPv6: Bool, now: Instant) {
        longest = max(0, min(longest, mtu - PathLimit.overhead(isIPv6: isIPv6)))
        expiry = now + PathLimit.lifetime
    }

    /// Forgets what is too old to be believed.
    package mutating func expire(now: Instant) {
        if now >= expiry { self = PathLimit() }
    }

    /// The MTU that the sender of a packet is to be told, where the tunnel's own is `mtu`.
    ///
    /// Never less than every path is to take (RFC 791, section 3.1; RFC 8200, section 5): such packets go in fragments where
    /// they don't fit, and a forged message can't make them any smaller.
    package func told(mtu: Int, isIPv6: Bool) -> Int { max(min(mtu, longest), isIPv6 ? 1280 : 576) }
}
