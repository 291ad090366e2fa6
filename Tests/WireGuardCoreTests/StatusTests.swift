import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// What may be said of the tunnel and its peers: the rules of the design's section 3.
@Suite struct StatusTests {
    @Test func `connecting lasts until the peer has answered`() {
        let pair = Pair(isStarted: false)
        #expect(pair.laptop.verdict == .connecting)
        pair.laptop.start()
        pair.network.run(for: .seconds(1000))
        #expect(pair.laptop.verdict == .connecting)
        #expect(pair.laptop.report()?.state == .silent)
        #expect(pair.laptop.report()?.verification == .expired)
        pair.gateway.start()
        pair.network.run(for: .seconds(61))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.laptop.report()?.failure == nil)
    }

    @Test func `the first handshake needs no traffic`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `a device whose peers have no endpoint is connected when it is ready`() {
        let pair = Pair(isStarted: false)
        #expect(pair.gateway.verdict == .connecting)
        pair.gateway.start()
        #expect(pair.gateway.verdict == .connected)
    }

    @Test func `a responder is connected by the first valid data, not by the initiation`() {
        let network = SimulatedNetwork()
        let left = SimulatedNode(network, "192.0.2.1:1", seed: 3, key: 1)
        let right = SimulatedNode(network, "192.0.2.2:2", seed: 4, key: 2)
        left.addPeer(right.publicKey, endpoint: right.address)
        right.addPeer(left.publicKey, endpoint: left.address)
        // What the right end starts is lost, so it can only be the responder.
        network.blocks = { $0.source == right.address && $0.type == 1 || $0.type == 4 }
        right.start()
        left.start()
        network.run(for: .seconds(2))
        #expect(left.verdict == .connected)
        #expect(right.verdict == .connecting)
        network.blocks = { $0.source == right.address && $0.type == 1 }
        left.send([1])
        network.run(for: .seconds(1))
        #expect(right.verdict == .connected)
    }

    @Test(arguments: [0, 30, 119, 150, 400, 3000])
    func `a peer that leaves data unanswered is told within 21 s, and connected again when heard`(idle: Int) throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1 + idle))
        pair.network.blocks = { _ in true }
        let start = pair.network.now
        pair.laptop.send([1])
        pair.network.run(for: .seconds(14))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.network.run(atMost: .seconds(10)) { pair.laptop.verdict == .reasserting })
        let change = try #require(pair.laptop.verdicts.last)
        #expect((19.9...21).contains((change.time - start).inSeconds))
        #expect(pair.laptop.report()?.state == .silent)
        #expect(pair.laptop.report()?.failure == .silent)
        pair.network.run(for: .seconds(300))
        #expect(pair.laptop.verdict == .reasserting)
        pair.network.blocks = { _ in false }
        #expect(pair.network.run(atMost: .seconds(61)) { pair.laptop.verdict == .connected })
        #expect(pair.laptop.report()?.state != .silent)
    }

    @Test func `data that goes on being sent unanswered is told within 21 s of the first packet`() throws {
        let pair = Pair()
        pair.gateway.echoes = true
        for _ in 0..<100 {
            pair.laptop.send([1])
            pair.network.run(for: .milliseconds(500))
        }
        pair.network.blocks = { _ in true }
        let start = pair.network.now
        for _ in 0..<50 {
            pair.laptop.send([1])
            pair.network.run(for: .milliseconds(500))
        }
        let change = try #require(pair.laptop.verdicts.last)
        #expect(change.verdict == .reasserting)
        #expect((15...21).contains((change.time - start).inSeconds))
    }

    @Test func `a peer that calls us while it gets nothing of ours leaves our data unanswered`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        pair.network.blocks = { $0.destination == pair.gateway.address }
        // Its data has no answer either, so it begins to call after 15 s.
        pair.gateway.send([2])
        pair.network.run(for: .seconds(1))
        let start = pair.network.now
        pair.laptop.send([1])
        pair.network.run(for: .seconds(40))
        #expect(pair.network.count(type: 1, from: pair.gateway.address, since: start) > 2)
        let change = try #require(pair.laptop.verdicts.last)
        #expect(change.verdict == .reasserting)
        #expect((19.9...21).contains((change.time - start).inSeconds))
        #expect(try #require(pair.laptop.report()?.lastHeard) > start)
        pair.network.blocks = { _ in false }
        #expect(pair.network.run(atMost: .seconds(10)) { pair.laptop.verdict == .connected })
    }

    @Test func `any authentic packet of the old session makes it connected at once`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        pair.network.blocks = { $0.source == pair.gateway.address }
        pair.laptop.send([1])
        pair.network.run(for: .seconds(22))
        #expect(pair.laptop.verdict == .reasserting)
        // Handshakes go on failing; one packet under the old session gets through.
        pair.network.blocks = { $0.type != 4 }
        pair.gateway.send([2])
        pair.network.run(for: .milliseconds(20))
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `an idle tunnel stays connected whatever becomes of the peer`() {
        let pair = Pair()
        pair.gateway.echoes = true
        pair.laptop.send([1])
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.report()?.verification == .live)
        #expect(pair.laptop.report()?.state == .alive)
        pair.network.blocks = { _ in true }
        pair.network.run(for: .seconds(60))
        #expect(pair.laptop.report()?.verification == .idle)
        #expect(pair.laptop.report()?.state == .idle)
        pair.network.run(for: .seconds(200))
        #expect(pair.laptop.report()?.verification == .expired)
        pair.network.run(for: .seconds(12 * 3600))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected])
        #expect(pair.laptop.deadline == nil)
    }

    @Test func `single lost packets are no reason to say anything`() {
        let pair = Pair(seed: 11)
        pair.gateway.echoes = true
        pair.network.loss = 0.2
        for _ in 0..<3600 {
            pair.laptop.send([1])
            pair.network.run(for: .seconds(1))
        }
        #expect(pair.laptop.verdicts.map(\.verdict) == [.connecting, .connected])
    }

    @Test func `one answering peer of several is enough, and a dead one that is sent nothing doesn't count`() {
        let network = SimulatedNetwork()
        let laptop = SimulatedNode(network, "192.0.2.1:1000", seed: 1, key: 1)
        let gateways = (0..<2).map { number in
            SimulatedNode(network, "198.51.100.\(number + 1):51820", seed: UInt64(10 + number), key: UInt8(2 + number))
        }
        for gateway in gateways {
            gateway.addPeer(laptop.publicKey)
            laptop.addPeer(gateway.publicKey, endpoint: gateway.address)
            gateway.echoes = true
        }
        gateways[0].start()
        laptop.start()
        let peers = laptop.core.peerIdentifiers
        network.run(for: .seconds(100))
        #expect(laptop.verdict == .connected)
        #expect(laptop.report(peers[1])?.state == .silent)
        // Both are sent data; one answers.
        for _ in 0..<60 {
            laptop.send([1], to: peers[0])
            laptop.send([1], to: peers[1])
            network.run(for: .seconds(1))
        }
        #expect(laptop.verdict == .connected)
        // Now none does.
        network.blocks = { $0.destination == laptop.address }
        for _ in 0..<25 {
            laptop.send([1], to: peers[0])
            network.run(for: .seconds(1))
        }
        #expect(laptop.verdict == .reasserting)
    }

    @Test func `a lost path is told at once, and the one that comes back when a peer is heard over it`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        networkChanged(pair, .lost)
        #expect(pair.laptop.verdict == .reasserting)
        networkChanged(pair, .moved)
        #expect(pair.laptop.verdict == .reasserting, "nobody has been heard over it")
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .connected)
        // Once proven, it stays so.
        networkChanged(pair, .elsewhere)
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `a peer that is heard by other means proves the path, too`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        networkChanged(pair, .lost)
        // The handshake is lost; the peer's own packet isn't.
        pair.network.blocks = { $0.source == pair.laptop.address }
        networkChanged(pair, .elsewhere)
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .reasserting)
        pair.gateway.send([1])
        pair.network.run(for: .milliseconds(500))
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `over another path every peer is probed at once`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let before = try #require(pair.laptop.report()?.latestHandshake)
        pair.laptop.address = Endpoint(.v4(IPv4Address(192, 0, 2, 77)), port: 7)
        networkChanged(pair, .moved)
        pair.network.run(for: .milliseconds(500))
        #expect(pair.gateway.report()?.endpoint == pair.laptop.address, "it learns the new address")
        #expect(try #require(pair.laptop.report()?.latestHandshake) > before, "and its answer was asked for")
    }

    @Test func `a change elsewhere makes nobody that is in touch speak`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let before = pair.laptop.report()?.sentBytes
        networkChanged(pair, .elsewhere)
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.report()?.sentBytes == before)
    }

    @Test func `a new network ends the wait for the next attempt`() {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        pair.network.run(for: .seconds(200))
        pair.gateway.start()
        networkChanged(pair, .elsewhere)
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .connected)
    }

    @Test(arguments: [(lost: 900, back: 1_000), (lost: 2_000, back: 1_900)])
    func `what goes first over a way that has come back is often lost, so the next attempts are soon`(
        _ milliseconds: (lost: Int, back: Int)
    ) {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        networkChanged(pair, .lost)
        pair.network.blocks = { _ in true }
        // The session is past its limit by then, so that only a handshake brings traffic back.
        pair.network.run(for: .seconds(200))
        networkChanged(pair, .elsewhere)
        pair.network.run(for: .milliseconds(milliseconds.lost))
        pair.network.blocks = { _ in false }
        pair.network.run(for: .milliseconds(milliseconds.back))
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `bytes are counted as UDP payload, handshakes too`() throws {
        let pair = Pair()
        pair.laptop.send([UInt8](repeating: 1, count: 64))
        pair.network.run(for: .seconds(1))
        let (laptop, gateway) = try (#require(pair.laptop.report()), #require(pair.gateway.report()))
        #expect(laptop.sentBytes == 148 + 96)
        #expect(laptop.receivedBytes == 92)
        #expect(gateway.receivedBytes == 148 + 96)
        #expect(gateway.sentBytes == 92)
    }

    private func networkChanged(_ pair: Pair, _ change: PathChange) {
        let moment = pair.network.moment
        let samples = pair.laptop.links.mapValues(\.sample)
        pair.laptop.with { core, actions in
            core.networkChanged(
                change,
                at: moment,
                samples: { samples[$0] ?? TrafficSample() },
                actions: &actions
            )
        }
    }
}
