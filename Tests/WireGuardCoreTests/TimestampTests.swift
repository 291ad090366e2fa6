import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

@Suite struct TimestampTests {
    private let tenYears: Int64 = 315_576_000

    @Test func `a label is the TAI64N of the wall clock, with little of its nanoseconds`() {
        let label = Timestamp(wallSeconds: 1_700_000_000, nanoseconds: 123_456_789)
        #expect(label.bytes.hex == "400000006553f10a07000000")
        #expect(Timestamp(bytes: label.bytes) == label)
        #expect(Timestamp(bytes: label.bytes.dropLast()) == nil)
    }

    @Test func `labels grow, also over the end of a second and at the end of time`() {
        let end = Timestamp(seconds: 5, nanoseconds: 999_000_000)
        #expect(end.next == Timestamp(seconds: 6, nanoseconds: 0))
        #expect(Timestamp(seconds: 5, nanoseconds: 0).next > Timestamp(seconds: 5, nanoseconds: 0))
        #expect(Timestamp(seconds: .max, nanoseconds: 0).adding(seconds: 9).seconds == .max)
        #expect(Timestamp(wallSeconds: -5, nanoseconds: 0) == Timestamp(wallSeconds: 0, nanoseconds: 0))
    }

    @Test func `every initiation has a later label than the one before, also while the clock jumps`() {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        for jump in [0, -3600, 100, -1_000_000, 5, -tenYears, 2 * tenYears, -tenYears] as [Int64] {
            pair.network.wallOffset += jump
            pair.network.run(for: .seconds(130))
        }
        let labels = pair.laptop.timestamps
        #expect(labels.count > 8)
        #expect(zip(labels.dropFirst(), labels).allSatisfy { $0 > $1 })
    }

    @Test(arguments: [-315_576_000, -365 * 86400, -1, 0, 3600, 315_576_000] as [Int64])
    func `a device started anew with its clock set back still connects to an unchanged peer`(step: Int64) throws {
        let pair = Pair()
        pair.network.run(for: .seconds(300))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(1))
        let stored = try #require(pair.laptop.lastTimestamp)
        pair.network.remove(pair.laptop)
        pair.network.wallOffset += step
        for run in 0..<3 {
            let restarted = SimulatedNode(
                pair.network,
                "192.0.2.1:1000",
                seed: UInt64(50 + run),
                lastTimestamp: stored.adding(seconds: UInt64(run) * 11),
                key: 1
            )
            restarted.addPeer(pair.gateway.publicKey, endpoint: pair.gateway.address)
            restarted.start()
            pair.network.run(for: .seconds(1))
            #expect(restarted.verdict == .connected)
            #expect(restarted.core.isClockBehind(at: pair.network.moment) == (step < 0 || step == 0 && run > 0))
            pair.network.remove(restarted)
        }
    }

    @Test func `without the stored label a clock that was set back would be refused`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        pair.network.remove(pair.laptop)
        pair.network.wallOffset -= 86400
        let restarted = SimulatedNode(pair.network, "192.0.2.1:1000", seed: 50, key: 1)
        restarted.addPeer(pair.gateway.publicKey, endpoint: pair.gateway.address)
        restarted.start()
        pair.network.run(for: .seconds(60))
        #expect(restarted.verdict == .connecting)
        #expect(pair.gateway.counters.replayed > 2)
    }
}
