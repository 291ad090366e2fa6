import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// The timers of the whitepaper's section 6, in virtual time.
@Suite struct TimerTests {
    @Test func `the initiator renews a session when it sends after 120 s, and no ping is lost`() {
        let pair = Pair()
        pair.gateway.echoes = true
        pair.network.run(for: .seconds(1))
        for number in 0..<600 as Range<UInt16> {
            pair.laptop.send([UInt8(number & 255), UInt8(number >> 8)])
            pair.network.run(for: .seconds(1))
        }
        let initiations = pair.network.times(type: 1, from: pair.laptop.address)
        #expect(initiations.count == 5)
        let gaps = zip(initiations.dropFirst(), initiations).map { ($0 - $1).inSeconds }
        #expect(gaps.allSatisfy { (119.9...121.1).contains($0) })
        #expect(pair.network.count(type: 1, from: pair.gateway.address) == 0)
        #expect(pair.laptop.received.count == 600)
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected])
    }

    @Test func `an initiator that only receives renews after 165 s`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        // The keepalives that answer would themselves renew after 120 s.
        for _ in 0..<200 {
            pair.gateway.send([1])
            pair.network.run(for: .seconds(1))
        }
        let renewals = pair.network.times(type: 1, from: pair.laptop.address, since: start)
        #expect(renewals.count == 1)
        #expect(pair.laptop.received.count == 200)
    }

    @Test func `data that came in gets a sign of life within 10 s, once`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        pair.gateway.send([1])
        pair.network.run(for: .seconds(9))
        #expect(pair.network.count(type: 4, from: pair.laptop.address, since: start) == 0)
        pair.network.run(for: .seconds(50))
        let answers = pair.network.passages.filter {
            $0.type == 4 && $0.source == pair.laptop.address && $0.time >= start
        }
        #expect(answers.map(\.datagram.count) == [32])
        #expect(answers.allSatisfy { abs(($0.time - start).inSeconds - 10) < 0.1 })
    }

    @Test func `a stream in one direction is acknowledged every 10 s`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        for _ in 0..<1000 {
            pair.gateway.send([1])
            pair.network.run(for: .milliseconds(100))
        }
        #expect((9...11).contains(pair.network.count(type: 4, from: pair.laptop.address, since: start)))
        #expect(pair.network.count(type: 1, since: start) == 0)
    }

    @Test func `data without an answer for 15 s brings on a handshake`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        pair.network.blocks = { $0.source == pair.gateway.address }
        pair.laptop.send([1])
        pair.network.run(for: .seconds(14))
        #expect(pair.network.count(type: 1, since: start) == 0)
        pair.network.run(for: .seconds(2))
        #expect(pair.network.count(type: 1, from: pair.laptop.address, since: start) == 1)
    }

    @Test(arguments: [1, 25, 3600] as [UInt16])
    func `a persistent keepalive goes out after each interval without any packet`(seconds: UInt16) {
        let pair = Pair(keepalive: seconds)
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        pair.network.run(for: .seconds(Int(seconds) * 4))
        let sent = pair.network.times(type: 4, from: pair.laptop.address, since: start)
        #expect((3...4).contains(sent.count))
        let gaps = zip(sent.dropFirst(), sent).map { ($0 - $1).inSeconds }
        // Beyond 120 s each needs a new session, which takes a round trip.
        #expect(gaps.allSatisfy { abs($0 - Double(seconds)) < 0.2 })
    }

    @Test func `a persistent keepalive keeps a session alive for hours`() {
        let pair = Pair(keepalive: 25)
        pair.network.run(for: .seconds(3 * 3600))
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected])
        let initiations = pair.network.count(type: 1)
        #expect((70...91).contains(initiations))
        pair.gateway.send([5])
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.received == [[5]])
    }

    @Test func `an idle pair runs no timer but the one that wipes the keys`() {
        let pair = Pair()
        pair.laptop.send([1])
        pair.network.run(for: .seconds(30))
        let fired = (pair.laptop.timerCount, pair.gateway.timerCount)
        pair.network.run(for: .seconds(500))
        #expect((pair.laptop.timerCount, pair.gateway.timerCount) == fired)
        pair.network.run(for: .seconds(100))
        #expect((pair.laptop.timerCount, pair.gateway.timerCount) == (fired.0 + 1, fired.1 + 1))
        #expect(pair.laptop.deadline == nil && pair.gateway.deadline == nil)
        let count = pair.network.passages.count
        pair.network.run(for: .seconds(24 * 3600))
        #expect(pair.network.passages.count == count)
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `keys are wiped 540 s after the last handshake, and a packet starts a new one`() {
        let pair = Pair()
        pair.network.run(for: .seconds(539))
        #expect(pair.laptop.links[pair.laptop.firstPeer]?.slots.all.isEmpty == false)
        pair.network.run(for: .seconds(2))
        #expect(pair.laptop.links[pair.laptop.firstPeer]?.slots.all.isEmpty == true)
        #expect(pair.gateway.links[pair.gateway.firstPeer]?.slots.all.isEmpty == true)
        pair.laptop.send([7])
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.received == [[7]])
    }

    @Test func `wiping leaves zeros`() {
        // What a key does when its last owner goes, tried on memory that may still be read afterwards.
        let pointer = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 16)
        defer { unsafe pointer.deallocate() }
        unsafe pointer.initializeMemory(as: UInt8.self, repeating: 0x5a, count: 32)
        unsafe wipeMemory(pointer, count: 32)
        #expect((0..<32).allSatisfy { unsafe pointer.load(fromByteOffset: $0, as: UInt8.self) == 0 })
    }

    @Test func `packets that wait are retried every 5 s with some chance, given up after 90 s, and begun again`() throws
    {
        let pair = Pair()
        pair.network.run(for: .seconds(700))
        pair.network.blocks = { _ in true }
        let start = pair.network.now
        // More packets while the series runs don't take its times away.
        for _ in 0..<89 {
            pair.laptop.send([1])
            pair.network.run(for: .seconds(1))
        }
        let first = pair.network.times(type: 1, from: pair.laptop.address, since: start)
        #expect((17...18).contains(first.count))
        let gaps = zip(first.dropFirst(), first).map { ($0 - $1).inSeconds }
        #expect(gaps.allSatisfy { (5.0...5.334).contains($0) })
        #expect(Set(gaps).count == gaps.count)
        pair.network.run(for: .seconds(8))
        #expect(pair.laptop.links[pair.laptop.firstPeer]?.staged.isEmpty == true)
        // The tunnel's own attempts go on.
        let afterSeries = pair.network.now
        pair.network.run(for: .seconds(600))
        #expect((9...11).contains(pair.network.count(type: 1, from: pair.laptop.address, since: afterSeries)))
        // A new packet is not made to wait for them.
        let again = pair.network.now
        pair.laptop.send([2])
        pair.network.run(for: .seconds(6))
        let next = try #require(pair.network.times(type: 1, from: pair.laptop.address, since: again).first)
        #expect((next - again).inSeconds <= 5)
        pair.network.blocks = { _ in false }
        pair.network.run(for: .seconds(6))
        #expect(pair.gateway.received == [[2]])
    }

    @Test func `attempts that nothing waits for come after 5, 10, 20, 40, 60 and 60 s`() {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        pair.network.run(for: .seconds(400))
        let times = pair.network.times(type: 1, from: pair.laptop.address)
        let gaps = zip(times.dropFirst(), times).map { ($0 - $1).inSeconds }
        for (gap, expected) in zip(gaps, [5, 10, 20, 40, 60, 60, 60] as [Double]) {
            #expect((expected...(expected + 0.334)).contains(gap))
        }
        #expect(gaps.count >= 7)
    }

    @Test func `two initiations to a peer are never less than 5 s apart`() {
        let pair = Pair(seed: 9)
        pair.network.loss = 0.5
        for number in 0..<3000 {
            if number % 7 == 0 { pair.laptop.send([1]) }
            if number % 11 == 0 { pair.gateway.send([1]) }
            pair.network.run(for: .milliseconds(300))
        }
        for node in [pair.laptop, pair.gateway] {
            let times = pair.network.times(type: 1, from: node.address)
            #expect(!times.isEmpty)
            #expect(zip(times.dropFirst(), times).allSatisfy { $0 - $1 >= .seconds(5) })
        }
    }

    @Test func `a peer that was only learned is given up with the series`() {
        let pair = Pair()
        pair.network.run(for: .seconds(700))
        pair.network.blocks = { _ in true }
        pair.gateway.send([1])
        pair.network.run(for: .seconds(200))
        let count = pair.network.count(type: 1, from: pair.gateway.address)
        #expect((17...19).contains(count))
        #expect(pair.gateway.deadline == nil)
        pair.network.run(for: .seconds(3600))
        #expect(pair.network.count(type: 1, from: pair.gateway.address) == count)
        #expect(pair.gateway.verdict == .connected)
    }

    @Test func `a packet for a peer that nobody knows the way to is dropped at once`() {
        let network = SimulatedNetwork()
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 2, key: 2)
        let laptop = SimulatedNode(network, "192.0.2.1:1000", seed: 3, key: 1)
        gateway.addPeer(laptop.publicKey)
        gateway.start()
        gateway.send([1])
        network.run(for: .seconds(100))
        #expect(network.passages.isEmpty)
        #expect(gateway.links[gateway.firstPeer]?.staged.isEmpty == true)
        #expect(gateway.timerCount == 0)
    }

    @Test func `a session that ran out while the machine slept is renewed by the first packet`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        pair.network.sleep(.seconds(4 * 3600))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.received == [[1]])
        #expect(pair.network.count(type: 1) == 2)
    }
}
