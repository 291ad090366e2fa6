import Glibc
import NetworkTypes

/// What the coalescer must know of a packet that may be merged with others.
struct MergeCandidate {
    let isIPv6: Bool
    let isTCP: Bool
    /// Bytes of the IP header: 20 or 40, since options and extension headers exclude merging.
    let ipLength: Int
    /// Bytes of IP and transport header.
    let headerLength: Int
    let payloadLength: Int
    /// Of the first payload byte; 0 for UDP.
    let sequence: UInt32
    /// PSH: the receiver should be told at once, so nothing may be merged behind it.
    let isPushed: Bool

    /// Reads a packet of exactly `length` bytes, and checks its checksums.
    ///
    /// - Returns: nil for a packet that must stay alone. One with a wrong checksum is among them: merged, it would get a
    ///   right one.
    init?(_ packet: UnsafeMutableRawPointer, length: Int, udp: Bool) {
        guard length >= 28 else { return nil }
        let first = unsafe packet.load(as: UInt8.self)
        let transport: UInt8
        var sum: UInt64
        if first == 0x45 {
            isIPv6 = false
            ipLength = 20
            let total = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            let fragment = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
            // Neither a fragment nor the reserved bit, which Linux refuses in a super-packet.
            guard Int(total) == length, fragment & 0xbfff == 0 else { return nil }
            guard unsafe InternetChecksum.fold(InternetChecksum.sum(packet, count: 20)) == 0xffff else { return nil }
            transport = unsafe packet.load(fromByteOffset: 9, as: UInt8.self)
            sum = unsafe InternetChecksum.sum(packet + 12, count: 8)
        } else if first >> 4 == 6 {
            isIPv6 = true
            ipLength = 40
            let payload = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
            guard length >= 48, Int(payload) == length &- 40 else { return nil }
            transport = unsafe packet.load(fromByteOffset: 6, as: UInt8.self)
            sum = unsafe InternetChecksum.sum(packet + 8, count: 32)
        } else {
            return nil
        }
        let segment = unsafe packet + ipLength
        let segmentLength = length &- ipLength
        if transport == 6 {
            guard segmentLength >= 20 else { return nil }
            let offset = unsafe segment.load(fromByteOffset: 12, as: UInt8.self)
            let flags = unsafe segment.load(fromByteOffset: 13, as: UInt8.self)
            let header = Int(offset >> 4) &* 4
            // ACK or ACK|PSH, the reserved bits clear, and some payload.
            guard offset & 0xf == 0, flags & ~0x08 == 0x10, header >= 20, header < segmentLength else { return nil }
            isTCP = true
            headerLength = ipLength &+ header
            sequence = UInt32(bigEndian: unsafe segment.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            isPushed = flags & 0x08 != 0
        } else if transport == 17, udp {
            let stated = UInt16(bigEndian: unsafe segment.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
            let checksum = unsafe segment.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
            guard Int(stated) == segmentLength, segmentLength > 8, checksum != 0 else { return nil }
            isTCP = false
            headerLength = ipLength &+ 8
            sequence = 0
            isPushed = false
        } else {
            return nil
        }
        payloadLength = length &- headerLength
        sum = sum &+ UInt64(UInt16(transport).bigEndian) &+ UInt64(UInt16(truncatingIfNeeded: segmentLength).bigEndian)
        sum = unsafe InternetChecksum.sum(segment, count: segmentLength, adding: sum)
        guard InternetChecksum.fold(sum) == 0xffff else { return nil }
    }

    /// Whether the headers of two packets differ in nothing but what a super-packet's segments may differ in.
    ///
    /// That is: lengths, checksums, IPv4's identification, TCP's sequence number and PSH.
    func sharesFlow(_ own: UnsafeMutableRawPointer, with other: MergeCandidate, _ theirs: UnsafeMutableRawPointer)
        -> Bool
    {
        guard isIPv6 == other.isIPv6, isTCP == other.isTCP, headerLength == other.headerLength else { return false }
        if isIPv6 {
            // Version, traffic class, flow label; next header, hop limit; addresses.
            guard unsafe same(own, theirs, 0, 4), unsafe same(own, theirs, 6, 34) else { return false }
        } else {
            // Version, type of service; flags, time to live, protocol; addresses.
            guard unsafe same(own, theirs, 0, 2), unsafe same(own, theirs, 6, 4), unsafe same(own, theirs, 12, 8) else {
                return false
            }
        }
        guard unsafe same(own, theirs, ipLength, 4) else { return false }  // ports
        guard isTCP else { return true }
        // Acknowledgement and header length; window; urgent pointer and options.
        return unsafe same(own, theirs, ipLength &+ 8, 5) && same(own, theirs, ipLength &+ 14, 2)
            && same(own, theirs, ipLength &+ 18, headerLength &- ipLength &- 18)
    }
}

@inline(__always)
private func same(_ a: UnsafeMutableRawPointer, _ b: UnsafeMutableRawPointer, _ offset: Int, _ count: Int) -> Bool {
    unsafe memcmp(a + offset, b + offset, count) == 0
}
