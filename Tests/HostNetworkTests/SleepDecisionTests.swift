import HostNetwork
import NetworkTypes
import Testing

struct SleepDecisionTests {
    private let present = SleepDecision.Survey(owner: ":1.7", isSleeping: false, delay: .seconds(5))

    @Test func `a lock is held as long as a tunnel runs, and nothing is heard while none does`() {
        var decision = SleepDecision()
        #expect(decision.handle(.tunnels(running: false)) == [])
        #expect(decision.handle(.tunnels(running: true)) == [.subscribe])
        #expect(decision.handle(.subscribed) == [.survey(1)])
        #expect(decision.handle(.surveyed(1, present)) == [.inhibit(2)])
        #expect(decision.handle(.inhibited(2, true)) == [.hold(2)])
        // A second tunnel needs no second lock.
        #expect(decision.handle(.tunnels(running: true)) == [])
        #expect(decision.handle(.tunnels(running: false)) == [.release, .unsubscribe])
        #expect(decision.handle(.tunnels(running: true)) == [.subscribe])
    }

    @Test func `a sleep is held up until the tunnels were told, and the lock is taken anew on the wake`() {
        var decision = holding()
        #expect(decision.handle(announced(true)) == [.prepare(3, within: .seconds(3))])
        // Said twice it is still one sleep.
        #expect(decision.handle(announced(true)) == [])
        #expect(decision.handle(.prepared(3)) == [.release])
        #expect(decision.handle(.prepared(3)) == [])
        #expect(decision.handle(announced(false)) == [.wake, .inhibit(4)])
        #expect(decision.handle(.inhibited(4, true)) == [.hold(4)])
    }

    @Test func `a sleep that begins anew, or ends, before the tunnels were told needs no second lock`() {
        var decision = holding()
        #expect(decision.handle(announced(true)) == [.prepare(3, within: .seconds(3))])
        #expect(decision.handle(announced(false)) == [.wake])
        #expect(decision.handle(.prepared(3)) == [])
        #expect(decision.handle(announced(true)) == [.prepare(4, within: .seconds(3))])
        #expect(decision.handle(.prepared(3)) == [])
        #expect(decision.handle(.prepared(4)) == [.release])
    }

    @Test(arguments: [
        (5000, 3000), (60_000, 3000), (2000, 1200), (0, 0),
    ])
    func `tunnels get a part of the time that logind waits, and three seconds at most`(delay: Int, limit: Int) {
        var decision = hearing()
        let survey = SleepDecision.Survey(owner: ":1.7", isSleeping: false, delay: .milliseconds(delay))
        _ = decision.handle(.surveyed(1, survey))
        #expect(decision.handle(announced(true)) == [.prepare(3, within: .milliseconds(limit))])
    }

    @Test func `where the sleep stopped the last tunnel, nothing is left of it after the wake`() {
        var decision = holding()
        _ = decision.handle(announced(true))
        #expect(decision.handle(.tunnels(running: false)) == [])
        #expect(decision.handle(.prepared(3)) == [.release])
        #expect(decision.handle(announced(false)) == [.wake, .unsubscribe])
    }

    @Test
    func `a lock that comes while the tunnels are being told is held for that, and one that comes later is given back`()
    {
        var decision = hearing()
        _ = decision.handle(.surveyed(1, present))
        _ = decision.handle(announced(true))
        #expect(decision.handle(.inhibited(2, true)) == [.hold(2)])
        #expect(decision.handle(.prepared(3)) == [.release])
        var late = hearing()
        _ = late.handle(.surveyed(1, present))
        _ = late.handle(announced(true))
        #expect(late.handle(.prepared(3)) == [])
        #expect(late.handle(.inhibited(2, true)) == [.drop(2)])
        #expect(late.handle(announced(false)) == [.wake, .inhibit(4)])
    }

    @Test func `a lock that comes when the last tunnel is gone is given back`() {
        var decision = hearing()
        _ = decision.handle(.surveyed(1, present))
        #expect(decision.handle(.tunnels(running: false)) == [.unsubscribe])
        #expect(decision.handle(.inhibited(2, true)) == [.drop(2)])
    }

    @Test func `nobody else's announcement counts, before or after it is known who logind is`() {
        var decision = hearing()
        _ = decision.handle(.announced(by: ":1.9", isBeginning: true))
        #expect(decision.handle(.surveyed(1, present)) == [.inhibit(2)])
        #expect(decision.handle(.announced(by: ":1.9", isBeginning: true)) == [])
        #expect(decision.handle(.announced(by: ":1.9", isBeginning: false)) == [])
        // logind's own isn't lost among those of a stranger.
        var other = hearing()
        _ = other.handle(announced(true))
        for _ in 0..<5 { _ = other.handle(.announced(by: ":1.9", isBeginning: false)) }
        #expect(other.handle(.surveyed(1, present)) == [.prepare(2, within: .seconds(3))])
    }

    @Test func `a sleep that nobody heard of is found by asking, and so is its end`() {
        var decision = hearing()
        var sleeping = present
        sleeping.isSleeping = true
        #expect(decision.handle(.surveyed(1, sleeping)) == [.prepare(2, within: .seconds(3))])
        #expect(decision.handle(.prepared(2)) == [])
        // logind was started anew meanwhile.
        #expect(decision.handle(.ownerChanged(nil)) == [])
        #expect(decision.handle(.ownerChanged(":1.8")) == [.survey(3)])
        let renewed = SleepDecision.Survey(owner: ":1.8", isSleeping: false, delay: .seconds(5))
        #expect(decision.handle(.surveyed(3, renewed)) == [.wake, .inhibit(4)])
    }

    @Test func `a logind that comes anew gives a new lock before the old one goes`() {
        var decision = holding()
        #expect(decision.handle(.ownerChanged(nil)) == [])
        #expect(decision.handle(announced(true)) == [])
        #expect(decision.handle(.ownerChanged(":1.8")) == [.survey(3)])
        let renewed = SleepDecision.Survey(owner: ":1.8", isSleeping: false, delay: .seconds(5))
        #expect(decision.handle(.surveyed(3, renewed)) == [.inhibit(4)])
        #expect(decision.handle(.inhibited(4, true)) == [.hold(4)])
        #expect(decision.handle(announced(true)) == [])
        #expect(decision.handle(.announced(by: ":1.8", isBeginning: true)) == [.prepare(5, within: .seconds(3))])
    }

    @Test func `a bus that comes back is asked anew, and the lock is kept meanwhile`() {
        var decision = holding()
        #expect(decision.handle(.busLost) == [])
        #expect(decision.handle(.tunnels(running: true)) == [.subscribe])
        #expect(decision.handle(.subscribed) == [.survey(3)])
        #expect(decision.handle(.surveyed(3, present)) == [.inhibit(4)])
        #expect(decision.handle(.inhibited(4, true)) == [.hold(4)])
        _ = decision.handle(.busLost)
        #expect(decision.handle(.tunnels(running: false)) == [.release, .unsubscribe])
    }

    @Test func `where there is no logind nothing is tried until one comes`() {
        var decision = hearing()
        let absent = SleepDecision.Survey(owner: nil, isSleeping: false, delay: .seconds(5))
        #expect(decision.handle(.surveyed(1, absent)) == [])
        #expect(decision.handle(.tunnels(running: true)) == [])
        #expect(decision.handle(.ownerChanged(":1.7")) == [.survey(2)])
        #expect(decision.handle(.surveyed(2, present)) == [.inhibit(3)])
    }

    @Test func `a refused lock is asked for at growing intervals, a few times, and again with the next tunnel`() {
        var decision = hearing()
        #expect(decision.handle(.surveyed(1, present)) == [.inhibit(2)])
        var effects = decision.handle(.inhibited(2, false))
        #expect(effects.first == .warnOfNoLock)
        effects.removeFirst()
        var pauses: [Interval] = []
        while case .retry(let number, let pause)? = effects.first {
            pauses.append(pause)
            #expect(decision.handle(.retryDue(number - 1)) == [])
            guard case .inhibit(let asked)? = decision.handle(.retryDue(number)).first else { break }
            effects = decision.handle(.inhibited(asked, false))
        }
        #expect(pauses == SleepDecision.pauses)
        #expect(effects == [])
        guard case .inhibit(let asked)? = decision.handle(.tunnels(running: true)).first else {
            Issue.record("It should ask.")
            return
        }
        #expect(decision.handle(.inhibited(asked, true)) == [.hold(asked)])
    }

    @Test func `a logind that doesn't answer is asked again later, and by the next tunnel at once`() {
        var decision = hearing()
        #expect(decision.handle(.surveyed(1, nil)) == [.warnOfNoLock, .retry(2, after: .seconds(2))])
        #expect(decision.handle(.retryDue(2)) == [.survey(3)])
        #expect(decision.handle(.surveyed(3, nil)) == [.retry(4, after: .seconds(10))])
        #expect(decision.handle(.tunnels(running: true)) == [.endRetry, .survey(5)])
        // An answer that comes too late is to another question.
        #expect(decision.handle(.surveyed(3, present)) == [])
        #expect(decision.handle(.surveyed(5, present)) == [.inhibit(6)])
        #expect(decision.handle(.tunnels(running: false)) == [.unsubscribe])
        #expect(decision.handle(.retryDue(4)) == [])
    }

    // MARK: Set-up

    private func announced(_ isBeginning: Bool) -> SleepDecision.Event {
        .announced(by: ":1.7", isBeginning: isBeginning)
    }

    /// Subscribed, with the survey 1 under way.
    private func hearing() -> SleepDecision {
        var decision = SleepDecision()
        _ = decision.handle(.tunnels(running: true))
        _ = decision.handle(.subscribed)
        return decision
    }

    /// The lock 2 is held.
    private func holding() -> SleepDecision {
        var decision = hearing()
        _ = decision.handle(.surveyed(1, present))
        _ = decision.handle(.inhibited(2, true))
        return decision
    }
}
