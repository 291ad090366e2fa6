import NetworkTypes
import Testing

@Suite struct CongestionMarkTests {
    /// RFC 6040, figure 4: rows are the inner mark (Not-ECT, ECT(0), ECT(1), CE), columns the outer.
    private static let table: [(inner: UInt8, outer: [UInt8: UInt8?])] = [
        (0b00, [0b00: 0b00, 0b10: 0b00, 0b01: 0b00, 0b11: nil]),
        (0b10, [0b00: 0b10, 0b10: 0b10, 0b01: 0b01, 0b11: 0b11]),
        (0b01, [0b00: 0b01, 0b10: 0b01, 0b01: 0b01, 0b11: 0b11]),
        (0b11, [0b00: 0b11, 0b10: 0b11, 0b01: 0b11, 0b11: 0b11]),
    ]

    @Test func `all sixteen combinations leave the tunnel as RFC 6040 says`() {
        for (inner, row) in Self.table {
            #expect(row.count == 4)
            for (outer, expected) in row {
                #expect(CongestionMark.decapsulate(inner: inner, outer: outer) == expected)
            }
        }
    }

    @Test(arguments: UInt8(0)...3) func `the outer packet carries a copy of the mark and nothing else`(mark: UInt8) {
        #expect(CongestionMark.encapsulate(0b1010_1000 | mark) == mark)
    }

    @Test(arguments: UInt8(0)...255)
    func `a mark is set in the header, whose checksum stays right, and nothing else changes`(trafficClass: UInt8) {
        var v4: [UInt8] = [0x45, trafficClass, 0, 40, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, trafficClass]
        v4.replaceSubrange(10..<12, with: checksum(v4))
        var v6: [UInt8] = [0x60 | trafficClass >> 4, trafficClass << 4 | 0xb] + [UInt8](repeating: 7, count: 38)
        let (before4, before6) = (v4, v6)
        for mark in UInt8(0)...3 {
            set(mark, on: &v4)
            set(mark, on: &v6)
            #expect(v4[1] == trafficClass & 0xfc | mark && checksum(v4) == [0, 0])
            #expect(v6[0] << 4 | v6[1] >> 4 == trafficClass & 0xfc | mark && v6[0] >> 4 == 6 && v6[1] & 0xf == 0xb)
        }
        #expect(v4[2..<10] == before4[2..<10] && v4[12...] == before4[12...] && v6[2...] == before6[2...])
    }

    private func set(_ mark: UInt8, on packet: inout [UInt8]) {
        unsafe packet.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe CongestionMark.set(mark, on: base) }
        }
    }

    private func checksum(_ bytes: [UInt8]) -> [UInt8] {
        let field = InternetChecksum.finish(unsafe InternetChecksum.sum(bytes.span.bytes)).bigEndian
        return [UInt8(field >> 8), UInt8(field & 0xff)]
    }
}
