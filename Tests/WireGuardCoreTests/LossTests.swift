import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Hours over bad networks.
@Suite struct LossTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func `a pair recovers from any loss, reordering and duplication`(seed: UInt64) throws {
        let pair = Pair(seed: seed &+ 100)
        pair.gateway.echoes = true
        let network = pair.network
        network.jitter = .milliseconds(2000)
        network.duplication = 0.1
        var sent = 0
        for hour in 0..<4 {
            network.loss = [0.05, 0.3, 0.6, 0.9][hour]
            for _ in 0..<300 {
                pair.laptop.send([UInt8(sent & 255), UInt8(sent >> 8)])
                sent += 1
                network.run(for: Interval(nanoseconds: .random(in: 0...12_000_000_000, using: &network.random)))
            }
        }
        // Nothing arrives twice, whatever the network doubles.
        #expect(Set(pair.gateway.received).count == pair.gateway.received.count)
        #expect(pair.gateway.received.count > sent / 3)
        network.loss = 0
        network.duplication = 0
        // The ends may disagree about their sessions now; within 15 s of unanswered data they have found out.
        for number in 0..<26 as Range<UInt8> {
            pair.laptop.send([9, 9, number])
            network.run(for: .seconds(1))
        }
        network.run(for: .seconds(3))
        #expect(pair.gateway.received.contains([9, 9, 25]))
        #expect(pair.laptop.verdict == .connected)
        // All settles again.
        network.run(for: .seconds(700))
        #expect(pair.laptop.deadline == nil && pair.gateway.deadline == nil)
        #expect(pair.laptop.core.indexCount == 0 && pair.gateway.core.indexCount == 0)
    }

    @Test func `64 peers connect at once and go through a rekey together`() {
        let network = SimulatedNetwork(seed: 3)
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 1, key: 200)
        gateway.echoes = true
        let laptops = (0..<64 as Range<UInt8>).map { number in
            SimulatedNode(network, "192.0.2.\(number):1000", seed: UInt64(number) + 10, key: number)
        }
        for laptop in laptops {
            gateway.addPeer(laptop.publicKey)
            laptop.addPeer(gateway.publicKey, endpoint: gateway.address)
        }
        gateway.start()
        for laptop in laptops { laptop.start() }
        for _ in 0..<26 {
            for laptop in laptops { laptop.send([1]) }
            network.run(for: .seconds(5))
        }
        #expect(laptops.allSatisfy { $0.received.count == 26 })
        #expect(network.count(type: 1) == 128)
    }

    @Test func `64 peers behind one address connect within two attempts`() {
        let network = SimulatedNetwork(seed: 3)
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 1, key: 200)
        let laptops = (0..<64 as Range<UInt8>).map { number in
            SimulatedNode(network, "192.0.2.1:\(1000 + Int(number))", seed: UInt64(number) + 10, key: number)
        }
        for laptop in laptops {
            gateway.addPeer(laptop.publicKey)
            laptop.addPeer(gateway.publicKey, endpoint: gateway.address)
        }
        gateway.start()
        for laptop in laptops { laptop.start() }
        network.run(for: .seconds(40))
        #expect(laptops.allSatisfy { $0.verdict == .connected })
    }
}
