import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Two devices that shake hands.
@Suite struct HandshakeTests {
    @Test(arguments: [false, true])
    func `two devices shake hands and exchange packets`(withPresharedKey: Bool) throws {
        let key = withPresharedKey ? try #require(SecretKey.counting(77)) : .zero
        let pair = Pair(presharedKeys: (key, key))
        pair.laptop.send([1, 2, 3])
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.gateway.received == [[1, 2, 3]])
        pair.gateway.send([4, 5])
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.received == [[4, 5]])
        #expect(pair.network.count(type: 1) == 1)
        #expect(pair.network.count(type: 2) == 1)
        let report = try #require(pair.gateway.report())
        #expect(report.endpoint == pair.laptop.address)
        #expect(report.state == .alive)
        #expect(report.latestHandshake != nil)
    }
}

/// A laptop that calls a gateway, as most tests need them.
struct Pair {
    let network: SimulatedNetwork
    let laptop: SimulatedNode
    let gateway: SimulatedNode

    init(
        seed: UInt64 = 1,
        presharedKeys: (SecretKey, SecretKey) = (.zero, .zero),
        keepalive: UInt16 = 0,
        isStarted: Bool = true
    ) {
        network = SimulatedNetwork(seed: seed)
        laptop = SimulatedNode(network, "192.0.2.1:1000", seed: seed &* 2, key: 1)
        gateway = SimulatedNode(network, "198.51.100.1:51820", seed: seed &* 2 &+ 1, key: 2)
        laptop.addPeer(
            gateway.publicKey,
            endpoint: gateway.address,
            presharedKey: presharedKeys.0,
            keepalive: keepalive
        )
        gateway.addPeer(laptop.publicKey, presharedKey: presharedKeys.1)
        guard isStarted else { return }
        gateway.start()
        laptop.start()
    }
}
