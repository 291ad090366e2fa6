import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct MendGovernorTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    /// Takes something away at every `step` until it is given up, or so many times.
    private func fight(
        _ governor: inout MendGovernor,
        from start: Instant = start,
        every step: Interval,
        times: Int
    ) -> (mends: Int, now: Instant, last: MendGovernor.Decision) {
        var now = start
        var mends = 0
        var last = MendGovernor.Decision.mend
        for _ in 0..<times {
            last = governor.lossFound(isFresh: true, now: now)
            if case .rest = last { break }
            if last == .mend {
                mends += 1
                governor.mended(from: now, to: now + .milliseconds(1))
            }
            now = now + step
        }
        return (mends, now, last)
    }

    @Test func `what is taken away by hand is put back each time`() {
        var governor = MendGovernor()
        // Fifty times one rule, one route, and all at once, as fast as anybody looks.
        #expect(fight(&governor, every: .milliseconds(60), times: 150).mends == 150)
        #expect(!governor.isResting)
        // Once an hour, for ever.
        governor = MendGovernor()
        #expect(fight(&governor, every: .seconds(3600), times: 10_000).mends == 10_000)
    }

    @Test(arguments: [25, 100, 500])
    func `who goes on is told, and left alone`(milliseconds: Int) {
        var governor = MendGovernor()
        let (mends, now, last) = fight(&governor, every: .milliseconds(milliseconds), times: 100_000)
        #expect(last == .rest(until: now + .seconds(10), isNews: true))
        #expect((300...700).contains(mends), "\(mends)")
        #expect(governor.count == mends)
        #expect(governor.isResting)
        // Said once.
        let later = now + .seconds(1)
        #expect(governor.lossFound(isFresh: true, now: later) == .rest(until: later + .seconds(10), isNews: false))
    }

    @Test func `after quiet it is put back again, and each fight makes the next rest longer`() {
        var governor = MendGovernor()
        var now = fight(&governor, every: .milliseconds(50), times: 100_000).now
        for length in [10, 20, 40, 80, 160, 320, 320] {
            #expect(governor.restLength == .seconds(length))
            let early = now + .seconds(length - 1)
            let decision = governor.lossFound(isFresh: false, now: early)
            #expect(decision == .rest(until: now + .seconds(length), isNews: false))
            let again = fight(&governor, from: now + .seconds(length), every: .milliseconds(50), times: 1)
            #expect(again.last != .mend, "what is fresh isn't quiet")
            now = now + .seconds(2 * length)
            #expect(governor.lossFound(isFresh: false, now: now) == .mend)
            governor.mended(from: now, to: now)
            let next = fight(&governor, from: now + .milliseconds(50), every: .milliseconds(50), times: 1000)
            #expect((19...21).contains(next.mends), "\(next.mends)")
            now = next.now
        }
        // Peace for as long as the debt takes, and all is forgotten.
        now = now + .seconds(1000)
        #expect(governor.lossFound(isFresh: false, now: now) == .mend)
        governor.mended(from: now, to: now)
        now = now + .seconds(1000)
        #expect(governor.lossFound(isFresh: true, now: now) == .mend)
        #expect(governor.restLength == .seconds(10))
    }

    @Test func `one that takes long is followed by a pause`() {
        var governor = MendGovernor()
        let now = Self.start
        #expect(governor.lossFound(isFresh: true, now: now) == .mend)
        governor.mended(from: now, to: now + .milliseconds(40))
        let next = now + .milliseconds(41)
        #expect(governor.lossFound(isFresh: true, now: next) == .wait(until: now + .milliseconds(200)))
        governor.mended(from: now, to: now + .seconds(2))
        let after = now + .milliseconds(2001)
        #expect(governor.lossFound(isFresh: true, now: after) == .wait(until: now + .milliseconds(2250)))
    }

    @Test func `what can't be put back is tried again later`() {
        var governor = MendGovernor()
        #expect(governor.lossFound(isFresh: true, now: Self.start) == .mend)
        #expect(governor.failed(now: Self.start) == .rest(until: Self.start + .seconds(10), isNews: true))
        #expect(governor.lossFound(isFresh: false, now: Self.start + .seconds(10)) == .mend)
        governor.whole()
        #expect(!governor.isResting)
    }
}
