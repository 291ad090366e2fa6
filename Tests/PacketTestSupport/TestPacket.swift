import NetworkTypes
package import PacketIO

/// Builds packets with right checksums, byte by byte, and takes them apart, without the code under test.
package struct TestPacket: Equatable, Sendable {
    package var isIPv6 = false
    package var isTCP = true
    package var trafficClass: UInt8 = 0
    package var identification: UInt16 = 0
    /// IPv4's flags and offset; 0x4000 is DF.
    package var fragment: UInt16 = 0x4000
    package var ipOptions: [UInt8] = []
    package var flowLabel: UInt16 = 0
    package var hopLimit: UInt8 = 64
    /// The last byte of each address.
    package var source: UInt8 = 1
    package var destination: UInt8 = 2
    package var sourcePort: UInt16 = 1000
    package var destinationPort: UInt16 = 2000
    package var sequence: UInt32 = 0
    package var acknowledgement: UInt32 = 0
    package var flags: UInt8 = 0x10
    package var window: UInt16 = 500
    package var urgent: UInt16 = 0
    package var tcpOptions: [UInt8] = []
    package var payload: [UInt8] = []
    /// A checksum field of zero (UDP: none).
    package var omitsChecksum = false

    package init(
        isIPv6: Bool = false,
        isTCP: Bool = true,
        trafficClass: UInt8 = 0,
        hopLimit: UInt8 = 64,
        source: UInt8 = 1,
        destination: UInt8 = 2,
        sequence: UInt32 = 0,
        flags: UInt8 = 0x10,
        tcpOptions: [UInt8] = [],
        payload: [UInt8] = [],
        omitsChecksum: Bool = false
    ) {
        self.isIPv6 = isIPv6
        self.isTCP = isTCP
        self.trafficClass = trafficClass
        self.hopLimit = hopLimit
        self.source = source
        self.destination = destination
        self.sequence = sequence
        self.flags = flags
        self.tcpOptions = tcpOptions
        self.payload = payload
        self.omitsChecksum = omitsChecksum
    }

    package var bytes: [UInt8] {
        var transport = big(sourcePort) + big(destinationPort)
        if isTCP {
            transport += big(sequence) + big(acknowledgement)
            transport +=
                [UInt8((20 + tcpOptions.count) / 4) << 4, flags] + big(window) + [0, 0] + big(urgent) + tcpOptions
        } else {
            transport += big(UInt16(8 + payload.count)) + [0, 0]
        }
        transport += payload
        if !omitsChecksum {
            var sum = checksum(pseudoHeader(transport.count) + transport)
            if !isTCP, sum == 0 { sum = 0xffff }
            transport.replaceSubrange(isTCP ? 16..<18 : 6..<8, with: big(sum))
        }
        return ipHeader(transport.count) + transport
    }

    /// Header bytes before the payload.
    package var headerLength: Int { (isIPv6 ? 40 : 20 + ipOptions.count) + (isTCP ? 20 + tcpOptions.count : 8) }

    private var addresses: [UInt8] {
        isIPv6
            ? [0xfd] + [UInt8](repeating: 0, count: 14) + [source, 0xfd] + [UInt8](repeating: 0, count: 14)
                + [destination]
            : [10, 0, 0, source, 10, 0, 0, destination]
    }

    private func pseudoHeader(_ length: Int) -> [UInt8] { addresses + big(UInt16(length)) + [0, isTCP ? 6 : 17] }

    private func ipHeader(_ length: Int) -> [UInt8] {
        let transport: UInt8 = isTCP ? 6 : 17
        if isIPv6 {
            return [0x60 | trafficClass >> 4, trafficClass << 4] + big(flowLabel) + big(UInt16(length))
                + [transport, hopLimit] + addresses
        }
        let headerLength = 20 + ipOptions.count
        var header =
            [0x40 | UInt8(headerLength / 4), trafficClass] + big(UInt16(headerLength + length)) + big(identification)
            + big(fragment) + [hopLimit, transport, 0, 0] + addresses + ipOptions
        header.replaceSubrange(10..<12, with: big(checksum(header)))
        return header
    }

    /// The same packet as a local stack hands it to a device that cuts it: with its virtio-net header, and only the
    /// pseudo-header's sum in the checksum field.
    package func superPacket(segmentSize: Int) -> [UInt8] {
        var packet = bytes
        let ipLength = isIPv6 ? 40 : 20 + ipOptions.count
        let field = ipLength + (isTCP ? 16 : 6)
        packet.replaceSubrange(field..<field + 2, with: big(~checksum(pseudoHeader(packet.count - ipLength))))
        var header = VirtioHeader()
        header.needsChecksum = true
        header.kind = isTCP ? (isIPv6 ? .tcp6 : .tcp4) : .udp
        header.headerLength = UInt16(headerLength)
        header.segmentSize = UInt16(segmentSize)
        header.checksumStart = UInt16(ipLength)
        header.checksumOffset = isTCP ? 16 : 6
        return header.bytes + packet
    }

    /// The packets that a super-packet stands for, as RFC 9293 and RFC 768 would have them sent.
    package func segments(of size: Int) -> [TestPacket] {
        stride(from: 0, to: payload.count, by: size).enumerated().map { index, offset in
            let end = min(offset + size, payload.count)
            var segment = self
            segment.payload = Array(payload[offset..<end])
            if !isIPv6 { segment.identification = identification &+ UInt16(index) }
            if isTCP {
                segment.sequence = sequence &+ UInt32(offset)
                if end < payload.count { segment.flags &= ~0x09 }
                if offset > 0 { segment.flags &= ~0x80 }
            }
            return segment
        }
    }
}

extension VirtioHeader {
    package var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0xee, count: VirtioHeader.size)
        unsafe bytes.withUnsafeMutableBytes { memory in
            if let base = memory.baseAddress { unsafe store(to: base) }
        }
        return bytes
    }
}

package func big(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }
package func big(_ value: UInt32) -> [UInt8] { big(UInt16(value >> 16)) + big(UInt16(value & 0xffff)) }

/// RFC 1071, the slow way.
package func checksum(_ bytes: [UInt8]) -> UInt16 {
    var sum: UInt32 = 0
    for index in stride(from: 0, to: bytes.count, by: 2) {
        sum += UInt32(bytes[index]) << 8 | UInt32(index + 1 < bytes.count ? bytes[index + 1] : 0)
        if sum > 0xffff { sum = sum & 0xffff + 1 }
    }
    return ~UInt16(sum)
}

/// Cuts what a device gave, header included; nil where it is refused.
package func cut(_ given: [UInt8]) -> [[UInt8]]? {
    var memory = given
    return unsafe memory.withUnsafeMutableBytes { memory -> [[UInt8]]? in
        guard let base = memory.baseAddress else { return nil }
        let packet = unsafe base + VirtioHeader.size
        guard
            var segmenter = unsafe Segmenter.cutting(
                packet,
                length: given.count - VirtioHeader.size,
                header: VirtioHeader(reading: base)
            )
        else { return nil }
        var result: [[UInt8]] = []
        while segmenter.nextLength > 0 {
            var segment = [UInt8](repeating: 0, count: segmenter.nextLength)
            unsafe segment.withUnsafeMutableBytes { segment in
                if let base = segment.baseAddress { unsafe segmenter.next(into: base) }
            }
            result.append(segment)
        }
        return result
    }
}

/// The packet without what a super-packet can't keep: IPv4's identification, and the header checksum over it.
///
/// Only of packets whose header is sound, since no other is ever merged.
package func normal(_ packet: [UInt8]) -> [UInt8] {
    guard packet.count >= 20, packet[0] == 0x45, checksum(Array(packet[0..<20])) == 0 else { return packet }
    var packet = packet
    for index in [4, 5, 10, 11] { packet[index] = 0 }
    return packet
}
