/// What a router reads of a packet: where it comes from and goes to, how long it is, what it carries.
///
/// Source: RFC 791, section 3.1; RFC 8200, section 3.
package struct IPHeader: Sendable {
    /// The longest header without extensions: IPv4 with all its options.
    package static let longest = 60

    package let source: IPAddress
    package let destination: IPAddress
    /// Bytes up to the transport header; an IPv6 extension header counts as transport.
    package let length: Int
    /// Header and what it carries, as the header says; not more than the bytes it was read from.
    package let totalLength: Int
    /// The protocol that follows (6: TCP, 17: UDP).
    package let transport: UInt8
    /// The type of service or traffic class; its low two bits are ECN's.
    package let trafficClass: UInt8
    /// Whether this is an IPv4 fragment, the first included.
    package let isFragment: Bool

    package var ecn: UInt8 { trafficClass & 3 }

    /// Reads the header of the packet that `bytes` begins with; bytes beyond the packet are let be.
    ///
    /// - Returns: nil for another version, or where a length in the header doesn't fit.
    package init?(parsing bytes: borrowing RawSpan) {
        let count = bytes.byteCount
        guard count >= 20 else { return nil }
        let first = unsafe bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        switch first >> 4 {
        case 4:
            length = Int(first & 0xf) * 4
            totalLength = Int(UInt16(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard length >= 20, totalLength >= length, totalLength <= count else { return nil }
            trafficClass = unsafe bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
            let fragment = UInt16(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 6, as: UInt16.self))
            isFragment = fragment & 0x3fff != 0
            transport = unsafe bytes.unsafeLoad(fromByteOffset: 9, as: UInt8.self)
            source = .v4(
                IPv4Address(UInt32(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 12, as: UInt32.self)))
            )
            destination = .v4(
                IPv4Address(UInt32(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt32.self)))
            )
        case 6:
            guard count >= 40 else { return nil }
            length = 40
            let payload = UInt16(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt16.self))
            totalLength = 40 + Int(payload)
            guard totalLength <= count else { return nil }
            let second = unsafe bytes.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
            trafficClass = first << 4 | second >> 4
            isFragment = false
            transport = unsafe bytes.unsafeLoad(fromByteOffset: 6, as: UInt8.self)
            source = .v6(unsafe address(bytes, 8))
            destination = .v6(unsafe address(bytes, 24))
        default:
            return nil
        }
    }
}

/// The caller has checked that the 16 bytes are there.
@unsafe private func address(_ bytes: borrowing RawSpan, _ offset: Int) -> IPv6Address {
    IPv6Address(
        high: UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)),
        low: UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
    )
}
