import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

@Suite struct RoamingTests {
    @Test func `a peer's address follows its authentic packets`() throws {
        let pair = Pair()
        pair.gateway.echoes = true
        pair.network.run(for: .seconds(1))
        for number in 2..<20 as Range<UInt8> {
            pair.laptop.address = Endpoint(.v4(IPv4Address(192, 0, 2, number)), port: UInt16(number))
            pair.laptop.send([number])
            pair.network.run(for: .seconds(5))
            #expect(pair.gateway.report()?.endpoint == pair.laptop.address)
        }
        #expect(pair.laptop.received.count == 18)
        #expect(pair.gateway.warnings == 0)
    }

    @Test func `a handshake from another address moves the peer too`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        pair.laptop.address = Endpoint(.v4(IPv4Address(192, 0, 2, 50)), port: 5)
        pair.network.run(for: .seconds(600))
        pair.laptop.send([1])
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.report()?.endpoint == pair.laptop.address)
        #expect(pair.gateway.received == [[1]])
    }

    @Test func `packets that aren't authentic move nobody`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let elsewhere = Endpoint(.v4(IPv4Address(203, 0, 113, 6)), port: 6)
        for passage in pair.network.passages where passage.destination == pair.gateway.address {
            for index in passage.datagram.indices {
                var damaged = passage.datagram
                damaged[index] ^= 1
                pair.gateway.receive(damaged, from: elsewhere)
            }
            pair.gateway.receive(passage.datagram, from: elsewhere)
        }
        #expect(pair.gateway.report()?.endpoint == pair.laptop.address)
    }

    @Test func `one key on two machines is told within a minute, and once an hour`() {
        let network = SimulatedNetwork()
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 1, key: 2)
        let machines = (0..<2).map { number in
            SimulatedNode(network, "192.0.2.\(number + 1):1000", seed: UInt64(10 + number), key: 1)
        }
        gateway.addPeer(machines[0].publicKey)
        gateway.start()
        for machine in machines {
            machine.addPeer(gateway.publicKey, endpoint: gateway.address)
            machine.start()
        }
        for second in 0..<3700 {
            for machine in machines {
                machine.send([1])
                network.run(for: .milliseconds(500))
            }
            if second == 60 { #expect(gateway.warnings == 1) }
            if second == 60 { #expect(gateway.report()?.sharedKeySuspected != nil) }
        }
        #expect(gateway.warnings == 2)
    }
}
