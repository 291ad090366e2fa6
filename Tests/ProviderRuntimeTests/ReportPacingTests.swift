import NetworkTypes
import ProviderRuntime
import Testing

struct ReportPacingTests {
    @Test func `a change after silence is told at once`() {
        var pacing = ReportPacing()
        #expect(pacing.deadline == nil)
        let told = pacing.changed(now: .zero + .seconds(10))
        #expect(told)
        #expect(pacing.deadline == nil)
    }

    @Test func `changes that follow wait together until a quarter of a second has passed`() {
        var pacing = ReportPacing()
        let start = Instant.zero + .seconds(10)
        let changes = [0, 1, 249].map { pacing.changed(now: start + .milliseconds($0)) }
        #expect(changes == [true, false, false])
        #expect(pacing.deadline == start + .milliseconds(250))
        let expiries = [249, 250, 5000].map { pacing.expire(now: start + .milliseconds($0)) }
        #expect(expiries == [false, true, false])
        #expect(pacing.deadline == nil)
    }

    @Test func `an hour of changes each millisecond is told four times a second`() {
        var pacing = ReportPacing()
        var told = 0
        for millisecond in 0..<3_600_000 where pacing.changed(now: .zero + .milliseconds(millisecond)) { told += 1 }
        #expect(told == 3600 * 4)
    }
}
