import NetworkTypes
import PacketTestSupport
import Testing

@Suite struct TCPSegmentTests {
    @Test(arguments: [false, true]) func `what is watched is read`(isIPv6: Bool) throws {
        var packet = TestPacket(isIPv6: isIPv6, sequence: 0x8000_0001, tcpOptions: [1, 1, 1, 1], payload: [1, 2, 3])
        packet.acknowledgement = 77
        let segment = try #require(read(packet.bytes))
        #expect(segment.sequence == 0x8000_0001 && segment.acknowledgement == 77)
        #expect(segment.headerLength == packet.headerLength && segment.payloadLength == 3 && segment.isDivisible)
        #expect(segment.flow.sourcePort == 1000 && segment.flow.destinationPort == 2000)
        #expect(segment.flow.source != segment.flow.destination && segment.flow.reversed.reversed == segment.flow)
        #expect(segment.flow.reversed.source == segment.flow.destination && segment.flow.reversed.sourcePort == 2000)
    }

    @Test func `SYN, RST and URG aren't divided, and without ACK nothing is acknowledged`() {
        for (flags, isDivisible) in [(0x12, false), (0x14, false), (0x30, false), (0x19, true)] {
            #expect(read(TestPacket(flags: UInt8(flags), payload: [1]).bytes)?.isDivisible == isDivisible)
        }
        #expect(read(TestPacket(flags: 0x02).bytes).map { $0.acknowledgement == nil } == true)
    }

    @Test func `fragments, other protocols and lengths that don't fit are nothing`() {
        var fragment = TestPacket(payload: [1])
        fragment.fragment = 0x2000
        #expect(read(fragment.bytes) == nil && read(TestPacket(isTCP: false, payload: [1]).bytes) == nil)
        let good = TestPacket(payload: [1]).bytes
        for offset in [0x40, 0xf0] {
            var bad = good
            bad[32] = UInt8(offset)
            #expect(read(bad) == nil)
        }
        for count in 20..<40 { #expect(read(good, length: count) == nil) }
    }

    private func read(_ bytes: [UInt8], length: Int? = nil) -> TCPSegment? {
        unsafe bytes.withUnsafeBytes { memory in
            guard let base = memory.baseAddress,
                let header = unsafe IPHeader(parsing: RawSpan(_unsafeStart: base, byteCount: memory.count))
            else { return nil }
            return unsafe TCPSegment(parsing: base, length: length ?? memory.count, header)
        }
    }
}
