import TestSupport
import Testing
import WireGuardCore

@Suite struct ReplayWindowTests {
    @Test func `a replayed counter is refused`() {
        var window = ReplayWindow()
        #expect(
            accepts(&window, [0, 0, 1, 1, 2, 70, 70, 3, 3]) == [
                true, false, true, false, true, true, false, true, false,
            ]
        )
    }

    @Test func `counters up to 8,191 behind the greatest are taken, and none further back`() {
        var window = ReplayWindow()
        #expect(
            accepts(&window, [20000, 20000 - 8191, 20000 - 8192, 20000 - 8193, 0]) == [
                true, true, false, false, false,
            ]
        )
        let isOutOfReach = window.isOutOfReach(20000 - 8192)
        #expect(isOutOfReach)
        let isInReach = !window.isOutOfReach(20000 - 8191)
        #expect(isInReach)
    }

    @Test func `the last counters of a session are refused`() {
        var window = ReplayWindow()
        let limit = MessageLimits.rejectAfter
        #expect(
            accepts(&window, [limit - 1, limit, .max, limit - 1, limit - 8192, limit - 8193]) == [
                true, false, false, false, true, false,
            ]
        )
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `random traffic is judged as by a list of all that came`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var window = ReplayWindow()
        var seen: Set<UInt64> = []
        var greatest: UInt64 = 0
        for _ in 0..<20000 {
            let counter: UInt64
            switch Int.random(in: 0..<100, using: &random) {
            case 0: counter = greatest + .random(in: 0...20000, using: &random)
            case 1..<60: counter = greatest + .random(in: 0...3, using: &random)
            default: counter = greatest - min(greatest, .random(in: 0...9000, using: &random))
            }
            let expected = !seen.contains(counter) && (counter > greatest || greatest - counter < 8192)
            let accepted = window.accept(counter)
            #expect(accepted == expected)
            if accepted { seen.insert(counter) }
            greatest = max(greatest, accepted ? counter : 0)
        }
    }

    private func accepts(_ window: inout ReplayWindow, _ counters: [UInt64]) -> [Bool] {
        var answers: [Bool] = []
        for counter in counters { answers.append(window.accept(counter)) }
        return answers
    }
}
