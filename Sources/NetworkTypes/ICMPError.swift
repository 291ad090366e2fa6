/// What a router says of a packet that it can't pass on.
///
/// The message comes from the address that the packet was sent to. A router would give an address of its own, but what comes
/// out of a tunnel device with an address of this machine as its source is dropped: for IPv4 as a "martian" (Linux,
/// `fib_validate_source`), for IPv6 by the reverse-path filters of firewalls (`fib saddr . iif`). The packet's own
/// destination is routed to the device, for that is how the packet came there, so no such filter minds it; programs see the
/// error at the socket that the quoted packet belongs to, whoever it comes from.
///
/// Source: RFC 792; RFC 1191, section 4; RFC 1812, section 4.3; RFC 4443, sections 2.4, 3.1 and 3.2.
package enum ICMPError: Equatable, Sendable {
    /// There is no way to the address. The codes are those of Linux's WireGuard (`wg_xmit`): host unreachable, address
    /// unreachable.
    case unreachable
    /// The packet is longer than `mtu` bytes, the longest that would have passed.
    case tooBig(mtu: Int)

    /// The longest message of each family: no more of the packet is quoted than fits (RFC 1812, section 4.3.2.3; RFC 4443,
    /// section 2.4 (c)).
    package static let longestIPv4 = 576
    package static let longestIPv6 = 1280

    /// Writes the message about a packet, IP header included, to at least `longestIPv6` bytes.
    ///
    /// - Parameters:
    ///   - packet: the packet as it would go over the wire, with a sound header (`IPHeader`).
    ///   - length: its bytes.
    /// - Returns: the message's length.
    package func write(about packet: UnsafeRawPointer, length: Int, to message: UnsafeMutableRawPointer) -> Int {
        unsafe packet.load(as: UInt8.self) >> 4 == 6
            ? writeIPv6(about: packet, length, to: message) : writeIPv4(about: packet, length, to: message)
    }

    private func writeIPv4(about packet: UnsafeRawPointer, _ length: Int, to message: UnsafeMutableRawPointer) -> Int {
        let total = 28 &+ min(length, ICMPError.longestIPv4 &- 28)
        let service = unsafe packet.load(fromByteOffset: 1, as: UInt8.self)
        // The sender's wish for its treatment, at the precedence of internetwork control (RFC 1812, section 4.3.2.5).
        unsafe message.storeBytes(of: 0x45, as: UInt8.self)
        unsafe message.storeBytes(of: service & 0x1e | 0xc0, toByteOffset: 1, as: UInt8.self)
        unsafe message.storeBytes(of: UInt16(truncatingIfNeeded: total).bigEndian, toByteOffset: 2, as: UInt16.self)
        // Not to be fragmented, so it needs no identification (RFC 6864, section 4.1); time to live 64, ICMP, no checksum yet.
        unsafe message.storeBytes(of: UInt64(0x0000_4000_4001_0000).bigEndian, toByteOffset: 4, as: UInt64.self)
        unsafe (message + 12).copyMemory(from: packet + 16, byteCount: 4)
        unsafe (message + 16).copyMemory(from: packet + 12, byteCount: 4)
        let header = unsafe InternetChecksum.finish(InternetChecksum.sum(message, count: 20))
        unsafe message.storeBytes(of: header, toByteOffset: 10, as: UInt16.self)

        let (code, mtu): (UInt8, Int) =
            switch self {
            case .unreachable: (1, 0)
            case .tooBig(let mtu): (4, mtu)
            }
        let content = unsafe message + 20
        unsafe content.storeBytes(of: UInt32(3 << 24 | UInt32(code) << 16).bigEndian, as: UInt32.self)
        unsafe content.storeBytes(of: UInt32(UInt16(clamping: mtu)).bigEndian, toByteOffset: 4, as: UInt32.self)
        unsafe (content + 8).copyMemory(from: packet, byteCount: total &- 28)
        let sum = unsafe InternetChecksum.finish(InternetChecksum.sum(content, count: total &- 20))
        unsafe content.storeBytes(of: sum, toByteOffset: 2, as: UInt16.self)
        return total
    }

    private func writeIPv6(about packet: UnsafeRawPointer, _ length: Int, to message: UnsafeMutableRawPointer) -> Int {
        let total = 48 &+ min(length, ICMPError.longestIPv6 &- 48)
        let contentLength = UInt16(truncatingIfNeeded: total &- 40).bigEndian
        unsafe message.storeBytes(of: UInt32(0x6000_0000).bigEndian, as: UInt32.self)
        unsafe message.storeBytes(of: contentLength, toByteOffset: 4, as: UInt16.self)
        unsafe message.storeBytes(of: 58, toByteOffset: 6, as: UInt8.self)
        unsafe message.storeBytes(of: 64, toByteOffset: 7, as: UInt8.self)
        unsafe (message + 8).copyMemory(from: packet + 24, byteCount: 16)
        unsafe (message + 24).copyMemory(from: packet + 8, byteCount: 16)

        let (type, code, mtu): (UInt8, UInt8, Int) =
            switch self {
            case .unreachable: (1, 3, 0)
            case .tooBig(let mtu): (2, 0, mtu)
            }
        let content = unsafe message + 40
        unsafe content.storeBytes(of: (UInt32(type) << 24 | UInt32(code) << 16).bigEndian, as: UInt32.self)
        unsafe content.storeBytes(of: UInt32(clamping: mtu).bigEndian, toByteOffset: 4, as: UInt32.self)
        unsafe (content + 8).copyMemory(from: packet, byteCount: total &- 48)
        // Addresses, length and next header are summed as well (RFC 8200, section 8.1).
        var sum = UInt64(contentLength) &+ UInt64(UInt16(58).bigEndian)
        sum = unsafe InternetChecksum.sum(message + 8, count: 32, adding: sum)
        sum = unsafe InternetChecksum.sum(content, count: total &- 40, adding: sum)
        unsafe content.storeBytes(of: InternetChecksum.finish(sum), toByteOffset: 2, as: UInt16.self)
        return total
    }
}
