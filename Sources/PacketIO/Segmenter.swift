import NetworkTypes

/// Cuts a packet as the TUN device gave it into packets as they go over the wire, with all checksums right.
///
/// A super-packet's payload is copied once, straight to its place, and summed on the way. This is one of the two inner
/// loops of the packet path, so it works on raw memory; every length is checked when it begins.
@safe package struct Segmenter {
    private let packet: UnsafeMutableRawPointer
    /// 0 for a packet that stays as it is: all of it is payload then.
    private let headerLength: Int
    private let transportStart: Int
    private let isIPv6: Bool
    private let isTCP: Bool
    private var segmentSize: Int
    private let payloadLength: Int
    /// Sums of what all segments share.
    private let ipSum: UInt64
    private let transportSum: UInt64
    private let identification: UInt16
    private let sequence: UInt32
    private let flags: UInt8
    private var done = 0
    private var index: UInt16 = 0

    /// Begins with a packet of `length` bytes, which may be changed.
    ///
    /// - Returns: nil where header and packet contradict each other.
    package static func cutting(
        _ packet: UnsafeMutableRawPointer,
        length: Int,
        header: VirtioHeader
    ) -> Segmenter? {
        if header.kind != .none { return unsafe Segmenter(super: packet, length: length, header: header) }
        if header.needsChecksum {
            guard unsafe finishChecksum(packet, length, header) else { return nil }
        }
        return unsafe Segmenter(whole: packet, length: length)
    }

    private init?(super packet: UnsafeMutableRawPointer, length: Int, header: VirtioHeader) {
        let start = Int(header.checksumStart)
        guard header.needsChecksum, header.segmentSize > 0, length >= start + 8, start >= 20 else { return nil }
        let first = unsafe packet.load(as: UInt8.self)
        isIPv6 = first >> 4 == 6
        guard isIPv6 ? start >= 40 : first >> 4 == 4 && Int(first & 0xf) * 4 == start else { return nil }
        switch header.kind {
        case .tcp4, .tcp6:
            guard isIPv6 == (header.kind == .tcp6), length >= start + 20 else { return nil }
            isTCP = true
            headerLength = start + Int(unsafe packet.load(fromByteOffset: start + 12, as: UInt8.self) >> 4) * 4
            guard headerLength >= start + 20 else { return nil }
        case .udp:
            isTCP = false
            headerLength = start + 8
        default:
            return nil
        }
        guard length > headerLength else { return nil }
        unsafe self.packet = packet
        transportStart = start
        segmentSize = Int(header.segmentSize)
        payloadLength = length - headerLength

        let transport = unsafe packet + start
        // Addresses and protocol of the pseudo-header.
        var sum = UInt64(UInt16(isTCP ? 6 : 17).bigEndian)
        if isIPv6 {
            sum = unsafe InternetChecksum.sum(packet + 8, count: 32, adding: sum)
            identification = 0
            ipSum = 0
        } else {
            sum = unsafe InternetChecksum.sum(packet + 12, count: 8, adding: sum)
            identification = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
            unsafe packet.storeBytes(of: 0, toByteOffset: 2, as: UInt32.self)  // total length, identification
            unsafe packet.storeBytes(of: 0, toByteOffset: 10, as: UInt16.self)  // checksum
            ipSum = unsafe InternetChecksum.sum(packet, count: start)
        }
        // What differs between segments is cleared, so that it doesn't enter the sum.
        if isTCP {
            sequence = UInt32(bigEndian: unsafe transport.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            flags = unsafe transport.load(fromByteOffset: 13, as: UInt8.self)
            unsafe transport.storeBytes(of: 0, toByteOffset: 4, as: UInt32.self)
            unsafe transport.storeBytes(of: 0, toByteOffset: 13, as: UInt8.self)
            unsafe transport.storeBytes(of: 0, toByteOffset: 16, as: UInt16.self)
        } else {
            sequence = 0
            flags = 0
            unsafe transport.storeBytes(of: 0, toByteOffset: 4, as: UInt32.self)  // length, checksum
        }
        transportSum = unsafe InternetChecksum.sum(transport, count: headerLength - start, adding: sum)
    }

    private init(whole packet: UnsafeMutableRawPointer, length: Int) {
        unsafe self.packet = packet
        headerLength = 0
        transportStart = 0
        isIPv6 = false
        isTCP = false
        segmentSize = length
        payloadLength = length
        ipSum = 0
        transportSum = 0
        identification = 0
        sequence = 0
        flags = 0
    }

    /// The length of the next packet; 0 after the last.
    package var nextLength: Int {
        done < payloadLength ? headerLength &+ min(segmentSize, payloadLength &- done) : 0
    }

    /// Cuts what is left of a super-packet into pieces of so many bytes of payload, at least one.
    package mutating func resize(to payload: Int) {
        if headerLength > 0 { segmentSize = max(1, payload) }
    }

    /// Writes the next packet, `nextLength` bytes, to `destination`.
    package mutating func next(into destination: UnsafeMutableRawPointer) {
        guard headerLength > 0 else {
            unsafe destination.copyMemory(from: packet, byteCount: payloadLength)
            done = payloadLength
            return
        }
        let count = min(segmentSize, payloadLength &- done)
        let isLast = done &+ count >= payloadLength
        unsafe destination.copyMemory(from: packet, byteCount: headerLength)
        let total = headerLength &+ count
        if isIPv6 {
            let length = UInt16(truncatingIfNeeded: total &- 40).bigEndian
            unsafe destination.storeBytes(of: length, toByteOffset: 4, as: UInt16.self)
        } else {
            let length = UInt16(truncatingIfNeeded: total).bigEndian
            let identification = (identification &+ index).bigEndian
            let sum = InternetChecksum.finish(ipSum &+ UInt64(length) &+ UInt64(identification))
            unsafe destination.storeBytes(of: length, toByteOffset: 2, as: UInt16.self)
            unsafe destination.storeBytes(of: identification, toByteOffset: 4, as: UInt16.self)
            unsafe destination.storeBytes(of: sum, toByteOffset: 10, as: UInt16.self)
        }
        let transport = unsafe destination + transportStart
        let length = UInt16(truncatingIfNeeded: total &- transportStart).bigEndian
        var sum = transportSum &+ UInt64(length)
        let payload = unsafe UnsafeRawPointer(packet) + headerLength + done
        if isTCP {
            let sequence = (sequence &+ UInt32(truncatingIfNeeded: done)).bigEndian
            let flags = tcpFlags(isFirst: done == 0, isLast: isLast)
            unsafe transport.storeBytes(of: sequence, toByteOffset: 4, as: UInt32.self)
            unsafe transport.storeBytes(of: flags, toByteOffset: 13, as: UInt8.self)
            sum = sum &+ UInt64(sequence) &+ UInt64(UInt16(flags).bigEndian)
            sum = unsafe InternetChecksum.copy(payload, count: count, to: destination + headerLength, adding: sum)
            unsafe transport.storeBytes(of: InternetChecksum.finish(sum), toByteOffset: 16, as: UInt16.self)
        } else {
            unsafe transport.storeBytes(of: length, toByteOffset: 4, as: UInt16.self)
            sum = sum &+ UInt64(length)
            sum = unsafe InternetChecksum.copy(payload, count: count, to: destination + headerLength, adding: sum)
            unsafe transport.storeBytes(of: InternetChecksum.finishUDP(sum), toByteOffset: 6, as: UInt16.self)
        }
        done &+= count
        index &+= 1
    }

    /// FIN and PSH stand on the last segment only, CWR (RFC 3168, section 6.1.2) on the first only.
    private func tcpFlags(isFirst: Bool, isLast: Bool) -> UInt8 {
        var result = flags
        if !isLast { result &= ~0x09 }
        if !isFirst { result &= ~0x80 }
        return result
    }
}

/// Completes the checksum that a local socket left to the device.
private func finishChecksum(_ packet: UnsafeMutableRawPointer, _ length: Int, _ header: VirtioHeader) -> Bool {
    let start = Int(header.checksumStart)
    let field = start + Int(header.checksumOffset)
    guard field + 2 <= length else { return false }
    let sum = unsafe InternetChecksum.sum(packet + start, count: length - start)
    // 6 is UDP's offset: there, 0 would mean that there is no checksum.
    let value = header.checksumOffset == 6 ? InternetChecksum.finishUDP(sum) : InternetChecksum.finish(sum)
    unsafe packet.storeBytes(of: value, toByteOffset: field, as: UInt16.self)
    return true
}
