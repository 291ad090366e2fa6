import NetworkTypes
import Testing

@Suite struct IPHeaderTests {
    private static let v4: [UInt8] = [
        0x46, 0x03, 0, 30, 1, 2, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2,  // with 4 bytes of options
        1, 1, 1, 1, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    ]
    private static let v6: [UInt8] =
        [0x6a, 0xb1, 2, 3, 0, 4, 6, 64, 0xfd] + [UInt8](repeating: 0, count: 14) + [1, 0xfd]
        + [UInt8](repeating: 0, count: 14) + [2, 9, 9, 9, 9]

    @Test func `an IPv4 header with options is read`() throws {
        let header = try #require(IPHeader(Self.v4))
        #expect(header.source == IPAddress("192.0.2.1") && header.destination == IPAddress("198.51.100.2"))
        #expect(header.length == 24 && header.totalLength == 30 && header.transport == 17 && !header.isFragment)
        #expect(header.trafficClass == 3 && header.ecn == 3)
    }

    @Test func `an IPv6 header is read`() throws {
        let header = try #require(IPHeader(Self.v6))
        #expect(header.source == IPAddress("fd00::1") && header.destination == IPAddress("fd00::2"))
        #expect(header.length == 40 && header.totalLength == 44 && header.transport == 6 && !header.isFragment)
        #expect(header.trafficClass == 0xab && header.ecn == 3)
    }

    @Test func `padding behind the packet is not part of it`() {
        #expect(IPHeader((Self.v4 + [0, 0, 0]))?.totalLength == 30)
        #expect(IPHeader((Self.v6 + [0, 0, 0]))?.totalLength == 44)
    }

    @Test(arguments: [UInt16(0x2000), 0x0001, 0x1fff])
    func `a fragment is known by its flag and by its offset`(field: UInt16) {
        var packet = Self.v4
        packet[6] = UInt8(field >> 8)
        packet[7] = UInt8(field & 0xff)
        #expect(IPHeader(packet)?.isFragment == true)
    }

    @Test func `a packet cut anywhere is refused`() {
        for count in 0..<30 { #expect(IPHeader(Array(Self.v4.prefix(count))) == nil) }
        for count in 0..<44 { #expect(IPHeader(Array(Self.v6.prefix(count))) == nil) }
    }

    @Test func `a header length that does not fit is refused`() {
        for first in [UInt8(0x44), 0x40, 0x4f] {  // below 20 bytes; beyond the packet's total length
            #expect(IPHeader(([first] + Self.v4.dropFirst())) == nil)
        }
        var short = Self.v4
        short[3] = 23  // total length below the header's
        #expect(IPHeader(short) == nil)
    }

    @Test func `another version is refused`() {
        for version in UInt8(0)...15 where version != 4 && version != 6 {
            #expect(IPHeader(([version << 4 | 5] + Self.v4.dropFirst())) == nil)
        }
    }
}

extension IPHeader {
    fileprivate init?(_ bytes: [UInt8]) { unsafe self.init(parsing: bytes.span.bytes) }
}
