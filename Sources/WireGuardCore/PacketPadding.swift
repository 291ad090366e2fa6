/// How long a packet is made before it is encrypted, so that its length tells less.
package enum PacketPadding {
    /// The length after padding to a multiple of 16, but never beyond the MTU.
    ///
    /// An empty packet stays empty. What is already longer than the MTU is padded as if the MTU began anew behind each whole
    /// MTU, as Linux does, so that it never shrinks. Source: WireGuard whitepaper, section 5.4.6.
    @_noAllocation @_noLocks
    package static func paddedLength(of length: Int, mtu: Int) -> Int {
        let last = mtu > 0 && length > mtu ? length % mtu : length
        let padded = (last &+ 15) & ~15
        let capped = mtu > 0 && padded > mtu ? mtu : padded
        return length &- last &+ capped
    }
}
