import NetworkTypes
import ProviderRuntime
import Testing

struct ReportPacingTests {
    private let start = Instant.zero + .seconds(10)

    @Test func `the stages of a start are told at once`() {
        var pacing = ReportPacing()
        let told = (0..<8).map { pacing.changed(now: start + .milliseconds($0)) }
        #expect(told == Array(repeating: true, count: 8))
        #expect(pacing.deadline == nil)
    }

    @Test func `what follows a burst waits and is told in one piece`() {
        var pacing = ReportPacing()
        for _ in 0..<8 { _ = pacing.changed(now: start) }
        let changes = [0, 1, 249].map { pacing.changed(now: start + .milliseconds($0)) }
        #expect(changes == [false, false, false])
        #expect(pacing.deadline == start + .milliseconds(250))
        let expiries = [249, 250, 5000].map { pacing.expire(now: start + .milliseconds($0)) }
        #expect(expiries == [false, true, false])
        #expect(pacing.deadline == nil)
    }

    @Test func `after two seconds of silence a whole burst may be told again`() {
        var pacing = ReportPacing()
        for _ in 0..<20 { _ = pacing.changed(now: start) }
        let later = start + .seconds(3)
        let told = (0..<10).map { _ in pacing.changed(now: later) }
        #expect(told.count { $0 } == 8)
    }

    @Test func `a minute of changes each millisecond is told four times a second`() {
        var pacing = ReportPacing()
        var told = 0
        for millisecond in 0..<60_000 where pacing.changed(now: start + .milliseconds(millisecond)) { told += 1 }
        #expect(told == 60 * 4 + 7)
    }
}
