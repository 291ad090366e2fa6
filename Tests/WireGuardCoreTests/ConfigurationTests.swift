import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Changes while the device runs.
@Suite struct ConfigurationTests {
    @Test func `a peer that is added is called, and one that is removed is forgotten`() {
        let network = SimulatedNetwork()
        let laptop = SimulatedNode(network, "192.0.2.1:1000", seed: 1, key: 1)
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 2, key: 2)
        laptop.start()
        gateway.start()
        let first = gateway.addPeer(laptop.publicKey)
        let peer = laptop.addPeer(gateway.publicKey, endpoint: gateway.address)
        network.run(for: .seconds(1))
        #expect(laptop.verdict == .connected)
        gateway.removePeer(first)
        #expect(gateway.core.indexCount == 0)
        #expect(gateway.core.peer(laptop.publicKey) == nil)
        laptop.send([1])
        network.run(for: .seconds(1))
        #expect(gateway.received.isEmpty)
        let second = gateway.addPeer(laptop.publicKey)
        #expect(second != first)
        laptop.removePeer(peer)
        #expect(laptop.core.indexCount == 0)
    }

    @Test func `a peer that can't be is refused, with the reason`() throws {
        let network = SimulatedNetwork()
        let laptop = SimulatedNode(network, "192.0.2.1:1000", seed: 1, key: 1)
        let gateway = SimulatedNode(network, "192.0.2.2:1000", seed: 2, key: 2)
        laptop.addPeer(gateway.publicKey)
        let weak = try #require(PublicKey([UInt8](repeating: 0, count: 32)))
        let cases: [(PublicKey, PeerError)] = [
            (gateway.publicKey, .duplicatePeer), (laptop.publicKey, .ownPublicKey), (weak, .weakPublicKey),
        ]
        let moment = network.moment
        for (key, error) in cases {
            laptop.with { core, actions in
                #expect(throws: error) {
                    try core.addPeer(PeerSettings(publicKey: key), at: moment, actions: &actions)
                }
            }
        }
    }

    @Test func `with a new private key all sessions end, and the peers are called under it`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let key = try #require(SecretKey.counting(7))
        let moment = pair.network.moment
        pair.laptop.with { core, actions in
            #expect(throws: Never.self) { try core.setPrivateKey(key, at: moment, actions: &actions) }
        }
        #expect(pair.laptop.verdict == .reasserting)
        #expect(pair.laptop.links[pair.laptop.firstPeer]?.slots.all.isEmpty == true)
        pair.network.run(for: .seconds(6))
        #expect(pair.gateway.counters.unknownPeer == 1)
        pair.gateway.addPeer(pair.laptop.publicKey)
        pair.network.run(for: .seconds(20))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.laptop.core.privateKey.isEqual(to: key))
    }

    @Test func `the public key of a peer can't become our own`() throws {
        let pair = Pair()
        let key = try #require(SecretKey.counting(2))
        let (before, moment) = (pair.laptop.publicKey, pair.network.moment)
        pair.laptop.with { core, actions in
            #expect(throws: PeerError.ownPublicKey) { try core.setPrivateKey(key, at: moment, actions: &actions) }
        }
        #expect(pair.laptop.publicKey == before)
    }

    @Test func `a keepalive that is set runs from then on, and one that is taken away stops`() {
        let pair = Pair()
        pair.network.run(for: .seconds(60))
        set(25, pair)
        let start = pair.network.now
        pair.network.run(for: .seconds(100))
        #expect((4...5).contains(pair.network.count(type: 4, from: pair.laptop.address, since: start)))
        set(0, pair)
        pair.network.run(for: .seconds(20))
        let count = pair.network.passages.count
        pair.network.run(for: .seconds(1000))
        #expect(pair.network.passages.count == count)
        #expect(pair.laptop.deadline == nil)
    }

    @Test func `nothing is done before the device is started`() {
        let pair = Pair(isStarted: false)
        pair.laptop.receive([1, 0, 0, 0] + [UInt8](repeating: 0, count: 144), from: pair.gateway.address)
        pair.network.run(for: .seconds(100))
        #expect(pair.network.passages.isEmpty)
        #expect(pair.laptop.deadline == nil)
        #expect(pair.laptop.counters == HandshakeCounters())
    }

    @Test func `keys are read and written as wg does`() {
        let text = "jnUkUAslsEOOkpSHFUd0UBlSEfbKHI6Csa3+wQPwhDo="
        #expect(PublicKey(text)?.description == text)
        #expect(PublicKey(String(text.dropLast())) == nil)
        #expect(PublicKey([UInt8](repeating: 1, count: 31)) == nil)
        #expect(SecretKey.zero.isZero)
        #expect(SecretKey.counting(3)?.isZero == false)
    }

    private func set(_ seconds: UInt16, _ pair: Pair) {
        let (moment, peer) = (pair.network.moment, pair.laptop.firstPeer)
        let sample = pair.laptop.links[peer]?.sample ?? TrafficSample()
        pair.laptop.with { core, actions in
            core.setPersistentKeepalive(seconds, of: peer, sample: sample, at: moment, actions: &actions)
        }
    }
}
