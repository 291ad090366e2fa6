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
}
