/// Explicit congestion notification through a tunnel.
///
/// Source: RFC 6040, sections 4.1 (normal mode) and 4.2.
package enum CongestionMark {
    /// The two bits in the traffic class (RFC 3168, section 5).
    package static let notCapable: UInt8 = 0b00
    package static let capable1: UInt8 = 0b01
    package static let capable0: UInt8 = 0b10
    package static let congested: UInt8 = 0b11

    /// The mark of the outer packet that carries a packet with mark `inner`: a copy.
    package static func encapsulate(_ inner: UInt8) -> UInt8 { inner & 3 }

    /// The mark that the inner packet leaves the tunnel with; nil: drop it.
    ///
    /// A packet whose sender doesn't know of marks can only be told of congestion by its loss.
    package static func decapsulate(inner: UInt8, outer: UInt8) -> UInt8? {
        switch (inner & 3, outer & 3) {
        case (notCapable, congested): nil
        case (notCapable, _): notCapable
        case (_, congested): congested
        case (capable0, capable1): capable1
        case (let inner, _): inner
        }
    }

    /// Writes a mark into the header of a packet that `IPHeader` has read, and puts IPv4's checksum right (RFC 1624).
    package static func set(_ mark: UInt8, on packet: UnsafeMutableRawPointer) {
        let first = unsafe packet.load(as: UInt8.self)
        let second = unsafe packet.load(fromByteOffset: 1, as: UInt8.self)
        guard first >> 4 == 4 else {
            // The traffic class lies across two bytes: its lowest two bits are the second's bits 4 and 5.
            unsafe packet.storeBytes(of: second & 0xcf | (mark & 3) << 4, toByteOffset: 1, as: UInt8.self)
            return
        }
        let before = unsafe packet.loadUnaligned(as: UInt16.self)
        unsafe packet.storeBytes(of: second & 0xfc | mark & 3, toByteOffset: 1, as: UInt8.self)
        let after = unsafe packet.loadUnaligned(as: UInt16.self)
        let checksum = unsafe packet.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
        let sum = UInt64(~checksum) + UInt64(~before) + UInt64(after)
        unsafe packet.storeBytes(of: InternetChecksum.finish(sum), toByteOffset: 10, as: UInt16.self)
    }
}
