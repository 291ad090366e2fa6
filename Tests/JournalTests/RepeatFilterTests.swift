import NetworkTypes
import Testing
@testable import Journal

@Suite struct `Repeat filter` {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test func `an hour of a failure each second is at most sixty-one lines, and none is lost from the count`() {
        let sink = RecordingSink()
        let logger = SteadyLogger(Logger(LogOutput(sink)))
        for second in 0...3600 {
            logger.log(.warning, topic: "home/unreachable", at: start + .seconds(second), "home: no answer")
        }
        #expect(sink.entries.count == 61)
        #expect(sink.entries.first?.message == "home: no answer")
        #expect(sink.entries.last?.message == "home: no answer (said 59 more times since)")
    }

    @Test func `another topic is news`() {
        var filter = RepeatFilter()
        #expect(filter.admit("a", at: start) == .say(repeated: 0))
        #expect(filter.admit("b", at: start) == .say(repeated: 0))
        #expect(filter.admit("a", at: start) == .merge)
    }

    @Test func `what was over and begins again is news`() {
        var filter = RepeatFilter()
        #expect(filter.admit("a", at: start) == .say(repeated: 0))
        #expect(filter.admit("a", at: start) == .merge)
        #expect(filter.end("a") == 1)
        #expect(filter.admit("a", at: start) == .say(repeated: 0))
    }

    @Test func `beyond the capacity the topic said longest ago is forgotten`() {
        var filter = RepeatFilter(capacity: 2)
        _ = filter.admit("a", at: start)
        _ = filter.admit("b", at: start + .seconds(1))
        _ = filter.admit("c", at: start + .seconds(2))
        #expect(filter.admit("b", at: start + .seconds(3)) == .merge)
        #expect(filter.admit("a", at: start + .seconds(3)) == .say(repeated: 0))
    }
}
