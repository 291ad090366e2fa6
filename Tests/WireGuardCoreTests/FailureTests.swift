import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Why a peer isn't reached is told by class, goes on being tried, and mends by itself.
@Suite struct FailureTests {
    @Test func `no answer is silent, from 5 s on`() {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        pair.network.run(for: .milliseconds(4900))
        #expect(pair.laptop.report()?.failure == nil)
        #expect(pair.laptop.report()?.attempts == 1)
        #expect(pair.laptop.report()?.state == .handshaking)
        pair.network.run(for: .milliseconds(500))
        #expect(pair.laptop.report()?.failure == .silent)
        #expect(pair.laptop.report()?.attempts == 2)
        #expect(pair.laptop.report()?.state == .silent)
    }

    @Test func `another pre-shared key is told from silence, and mends when it is set right`() throws {
        let right = try #require(SecretKey.counting(50))
        let wrong = try #require(SecretKey.counting(51))
        let pair = Pair(presharedKeys: (wrong, right))
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.report()?.failure == .answeredNotAuthentic)
        #expect(pair.laptop.verdict == .connecting)
        #expect(pair.gateway.report()?.latestHandshake == nil)
        pair.network.run(for: .seconds(200))
        #expect(pair.laptop.report()?.failure == .answeredNotAuthentic)
        #expect(pair.laptop.report()?.state == .handshaking)
        // The other end knows that somebody with the right key calls, and no more.
        #expect(pair.gateway.report()?.verification == .expired)
        #expect(pair.laptop.verdict == .connecting)
        let moment = pair.network.moment
        pair.laptop.with { core, _ in
            core.setPresharedKey(right, of: core.peerIdentifiers[0], at: moment)
        }
        pair.network.run(for: .seconds(6))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.laptop.report()?.failure == nil)
    }

    @Test(arguments: [PeerFailure.refused, .unreachable])
    func `what the network says is told, until the peer answers`(failure: PeerFailure) {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        for _ in 0..<5 {
            pair.laptop.with { core, _ in
                for peer in core.peers(at: pair.gateway.address) { core.report(failure, about: peer) }
            }
            pair.network.run(for: .seconds(1))
            #expect(pair.laptop.report()?.failure == failure)
        }
        pair.network.run(for: .milliseconds(400))
        #expect(pair.laptop.report()?.failure == failure)
        // The next attempt brings no word from the network.
        pair.network.run(for: .seconds(12))
        #expect(pair.laptop.report()?.failure == .silent)
        pair.gateway.start()
        pair.network.run(for: .seconds(61))
        #expect(pair.laptop.report()?.failure == nil)
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `a name that doesn't resolve is looked up with each attempt, and called once it does`() {
        let network = SimulatedNetwork()
        let laptop = SimulatedNode(network, "192.0.2.1:1000", seed: 1, key: 1)
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 2, key: 2)
        gateway.addPeer(laptop.publicKey)
        gateway.start()
        let peer = laptop.addPeer(gateway.publicKey, endpoint: nil, isConfigured: true)
        laptop.start()
        #expect(laptop.resolves == [peer])
        #expect(laptop.verdict == .connecting)
        laptop.with { core, _ in core.report(.name, about: peer) }
        #expect(laptop.report()?.failure == .name)
        network.run(for: .seconds(40))
        #expect(laptop.resolves.count == 4)
        #expect(laptop.report()?.failure == .name)
        #expect(laptop.report()?.attempts == 0)
        #expect(network.passages.isEmpty)
        let moment = network.moment
        laptop.with { core, actions in
            core.setEndpoint(gateway.address, isConfigured: true, of: peer, at: moment, actions: &actions)
        }
        network.run(for: .seconds(1))
        #expect(laptop.verdict == .connected)
    }

    @Test func `the next of several addresses is called when its turn comes, a new one at once`() throws {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        pair.network.run(for: .seconds(16))
        let due = try #require(pair.laptop.deadline)
        let next = Endpoint(.v4(IPv4Address(203, 0, 113, 5)), port: 51820)
        for isNews in [false, true] {
            let moment = pair.network.moment
            pair.laptop.with { core, actions in
                core.setEndpoint(
                    Endpoint(next.address, port: isNews ? 1 : 2),
                    isConfigured: true,
                    isNews: isNews,
                    of: core.peerIdentifiers[0],
                    at: moment,
                    actions: &actions
                )
            }
            let deadline = try #require(pair.laptop.deadline)
            #expect(isNews ? deadline < due : deadline == due)
        }
    }

    @Test func `an endpoint whose name has moved is followed by looking it up again`() {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        pair.network.run(for: .seconds(6))
        #expect(pair.laptop.resolves.count == 1)
        pair.gateway.address = Endpoint(.v4(IPv4Address(203, 0, 113, 5)), port: 51820)
        pair.gateway.start()
        let moment = pair.network.moment
        pair.laptop.with { core, actions in
            core.setEndpoint(
                pair.gateway.address,
                isConfigured: true,
                of: core.peerIdentifiers[0],
                at: moment,
                actions: &actions
            )
        }
        pair.network.run(for: .seconds(6))
        #expect(pair.laptop.verdict == .connected)
    }
}
