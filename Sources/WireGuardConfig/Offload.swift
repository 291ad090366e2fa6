/// Work that the kernel or a library does for many packets at once, and that can be switched off.
///
/// The raw value is its name in a configuration. Without all of them a tunnel works the same, only slower: a switch is for
/// finding out whether a driver, a kernel or a path deals badly with one.
package enum Offload: String, CaseIterable, Sendable {
    /// Packets of local programs come out of the TUN device as super-packets (TUNSETOFFLOAD).
    case tunSegmentation = "tun-segmentation"
    /// Packets that arrive are merged into super-packets on their way to the TUN device.
    case tunCoalescing = "tun-coalescing"
    /// Many datagrams to a peer leave as one, which the kernel or the link's hardware cuts (UDP_SEGMENT).
    case udpSegmentation = "udp-segmentation"
    /// Many datagrams of a peer arrive as one (UDP_GRO).
    case udpCoalescing = "udp-coalescing"
    /// Many messages are sent or received by one system call (sendmmsg(2), recvmmsg(2)).
    case batches
    /// The cipher of the library intel-ipsec-mb.
    case ipsecMB = "intel-ipsec-mb"
}
