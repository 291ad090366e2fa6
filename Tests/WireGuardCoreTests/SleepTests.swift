import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

@Suite struct SleepTests {
    @Test func `after a short sleep the session is probed: the peer learns our address, and is asked for an answer`()
        throws
    {
        let pair = connected()
        pair.laptop.with { core, _ in core.sleep() }
        pair.network.sleep(.seconds(60))
        pair.laptop.address = Endpoint(.v4(IPv4Address(192, 0, 2, 77)), port: 7)
        let start = pair.network.now
        wake(pair)
        let sent = pair.network.passages.filter { $0.time == start && $0.source == pair.laptop.address }.map(\.type)
        #expect(sent == [4, 1])
        #expect(pair.laptop.discarded == 0)
        pair.network.run(for: .milliseconds(100))
        #expect(pair.gateway.report()?.endpoint == pair.laptop.address)
        #expect(pair.network.count(type: 2, since: start) == 1)
        #expect(pair.laptop.report()?.latestHandshake ?? .zero > start)
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected])
        // Once it has answered it is left in peace.
        pair.network.run(for: .seconds(60))
        #expect(pair.network.count(type: 1, since: start) == 1)
    }

    @Test(arguments: [179, 180])
    func `keys past their limit are dropped at once, and no others`(age: Int) {
        let pair = connected()
        let created = pair.laptop.report()?.latestHandshake ?? .zero
        pair.network.sleep(created + .seconds(age) - pair.network.now)
        wake(pair)
        let isOver = age == 180
        #expect(pair.laptop.discarded == (isOver ? 1 : 0))
        #expect(pair.laptop.links[pair.laptop.firstPeer]?.slots.all.isEmpty == isOver)
        // With the handshake that it asks for there is one index more.
        #expect(pair.laptop.core.indexCount == (isOver ? 1 : 2))
        pair.network.run(for: .seconds(1))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.received == [[1]])
    }

    @Test func `a path that comes back 15 s after the wake carries traffic at once`() {
        let pair = connected()
        pair.laptop.with { core, _ in core.sleep() }
        pair.network.sleep(.seconds(600))
        pair.network.blocks = { _ in true }
        wake(pair)
        pair.network.run(for: .seconds(15))
        pair.network.blocks = { _ in false }
        pathChanged(pair)
        pair.laptop.send([1])
        #expect(pair.network.run(atMost: .seconds(3)) { pair.gateway.received == [[1]] })
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `a peer that is out of reach after the wake is called with a growing gap, until it answers`() {
        let pair = connected()
        pair.network.sleep(.seconds(600))
        let start = pair.network.now
        pair.network.blocks = { _ in true }
        wake(pair)
        pair.network.run(for: .seconds(120))
        let times = pair.network.times(type: 1, from: pair.laptop.address, since: start)
        let seconds = times.map { Double(($0 - start).nanoseconds) / 1e9 }
        #expect(seconds.count == 7)
        for (time, expected) in zip(seconds, [0, 1, 3, 8, 18, 38, 78]) {
            #expect((Double(expected)...Double(expected) + 2).contains(time), "\(seconds)")
        }
        #expect(pair.laptop.verdict == .reasserting)
        pair.network.blocks = { _ in false }
        pathChanged(pair)
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected, .reasserting, .connected])
    }

    @Test func `packets that waited when the machine went to sleep wait on after it, for one more series`() {
        let pair = connected()
        pair.network.blocks = { _ in true }
        pair.network.run(for: .seconds(200))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(10))
        pair.laptop.with { core, _ in core.sleep() }
        pair.network.sleep(.seconds(3600))
        // The timers that are due fire first, as they do before anybody tells of a wake.
        pair.network.run(for: .milliseconds(500))
        #expect(staged(pair) == [[1]])
        pair.network.blocks = { _ in false }
        wake(pair)
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.received == [[1]])
    }

    @Test func `a sleep is an excuse once, also where its end is never told`() {
        let pair = connected()
        pair.network.blocks = { _ in true }
        pair.network.run(for: .seconds(200))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(10))
        pair.laptop.with { core, _ in core.sleep() }
        pair.network.run(for: .seconds(120))
        #expect(staged(pair) == [[1]])
        pair.network.run(for: .seconds(90))
        #expect(staged(pair) == [])
    }

    @Test func `a gateway's peers are told its address, and left to call`() {
        let pair = connected()
        pair.network.sleep(.seconds(60))
        let start = pair.network.now
        wake(pair, pair.gateway)
        pair.network.run(for: .seconds(10))
        #expect(pair.network.passages.filter { $0.time >= start }.map(\.type) == [4])
        pair.network.sleep(.seconds(600))
        wake(pair, pair.gateway)
        pair.network.run(for: .seconds(100))
        #expect(pair.network.passages.filter { $0.time >= start }.map(\.type) == [4])
        #expect(pair.gateway.core.indexCount == 0)
    }

    @Test func `before its start a device does nothing on a wake`() {
        let pair = Pair(isStarted: false)
        wake(pair)
        pair.network.run(for: .seconds(100))
        #expect(pair.network.passages.isEmpty)
    }

    // MARK: Set-up

    /// Both have a session that was used in either direction.
    private func connected() -> Pair {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        return pair
    }

    private func staged(_ pair: Pair) -> [[UInt8]]? { pair.laptop.links[pair.laptop.firstPeer]?.staged }

    private func wake(_ pair: Pair, _ node: SimulatedNode? = nil) {
        let (node, moment) = (node ?? pair.laptop, pair.network.moment)
        let samples = node.links.mapValues(\.sample)
        node.with { core, actions in
            core.wake(at: moment, samples: { samples[$0] ?? TrafficSample() }, actions: &actions)
        }
    }

    private func pathChanged(_ pair: Pair) {
        let moment = pair.network.moment
        let samples = pair.laptop.links.mapValues(\.sample)
        pair.laptop.with { core, actions in
            core.networkChanged(
                .moved,
                at: moment,
                samples: { samples[$0] ?? TrafficSample() },
                actions: &actions
            )
        }
    }
}
