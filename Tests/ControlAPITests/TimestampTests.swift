import ControlAPI
import FoundationEssentials
import Testing

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_001, "2024-02-29T23:59:59.001Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_796_020_735_467, "2026-11-30T06:38:55.467Z"),
        ] as [(Int64, String)]
    )
    func `a time is written in RFC 3339, UTC, with milliseconds`(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test func `every millisecond comes back as it was written`() {
        for milliseconds in stride(from: 1_796_020_735_000 as Int64, to: 1_796_020_737_000, by: 1) {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(Timestamp(time.description) == time)
        }
        for day in 0..<60_000 as Range<Int64> {
            let time = Timestamp(milliseconds: day * 86_400_000 + 7)
            #expect(Timestamp(time.description) == time)
        }
    }

    @Test(arguments: ["", "2026", "2026-13-01T00:00:00.000Z", "yesterday"])
    func `what is no time is refused, in JSON with what it should hold`(text: String) {
        #expect(Timestamp(text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Timestamp].self, from: Data("[\"\(text)\"]".utf8))
        }
    }
}
