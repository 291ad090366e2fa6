import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Two devices that shake hands, and others that try to.
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

    @Test func `the response's session is confirmed by an empty packet when nothing waits`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        #expect(pair.network.passages.map(\.type) == [1, 2, 4])
        #expect(pair.network.passages.last?.datagram.count == 32)
        #expect(pair.gateway.report()?.latestHandshake != nil)
    }

    @Test func `both ends may start at once`() {
        let network = SimulatedNetwork()
        let left = SimulatedNode(network, "192.0.2.1:1", seed: 3, key: 1)
        let right = SimulatedNode(network, "192.0.2.2:2", seed: 4, key: 2)
        left.addPeer(right.publicKey, endpoint: right.address)
        right.addPeer(left.publicKey, endpoint: left.address)
        left.start()
        right.start()
        network.run(for: .seconds(1))
        #expect(network.count(type: 1) == 2)
        #expect(network.count(type: 2) == 2)
        for number in 0..<20 as Range<UInt8> {
            left.send([1, number])
            right.send([2, number])
            network.run(for: .milliseconds(30))
        }
        #expect(right.received == (0..<20).map { [1, $0] })
        #expect(left.received == (0..<20).map { [2, $0] })
        #expect(left.verdict == .connected && right.verdict == .connected)
        network.run(for: .seconds(60))
        #expect(network.count(type: 1) == 2)
    }

    @Test func `an initiation that was heard before is refused, from anywhere`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let initiation = try #require(pair.network.passages.first).datagram
        let elsewhere = Endpoint(.v4(IPv4Address(203, 0, 113, 9)), port: 9)
        for _ in 0..<3 {
            pair.gateway.receive(initiation, from: elsewhere)
            pair.network.run(for: .seconds(1))
        }
        #expect(pair.gateway.counters.replayed == 3)
        #expect(pair.network.count(type: 2) == 1)
        #expect(pair.gateway.report()?.endpoint == pair.laptop.address)
    }

    @Test func `an older initiation that was held back is refused`() throws {
        let pair = Pair(isStarted: false)
        var held: [[UInt8]] = []
        pair.network.blocks = { passage in
            guard passage.type == 1, held.isEmpty else { return false }
            held.append(passage.datagram)
            return true
        }
        pair.gateway.start()
        pair.laptop.start()
        pair.network.run(for: .seconds(7))
        #expect(pair.laptop.verdict == .connected)
        pair.gateway.receive(try #require(held.first), from: pair.laptop.address)
        #expect(pair.gateway.counters.replayed == 1)
    }

    @Test func `a response is taken once`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let response = try #require(pair.network.passages.first { $0.type == 2 }).datagram
        pair.laptop.receive(response, from: pair.gateway.address)
        #expect(pair.laptop.counters.unknownPeer == 1)
        pair.laptop.send([9])
        pair.network.run(for: .seconds(1))
        #expect(pair.gateway.received == [[9]])
    }

    @Test func `a changed bit anywhere in a handshake message is noticed, and does no harm`() throws {
        let pair = Pair()
        pair.network.blocks = { $0.type == 2 }
        pair.network.run(for: .seconds(1))
        let initiation = try #require(pair.network.passages.first { $0.type == 1 }).datagram
        let response = try #require(pair.network.passages.first { $0.type == 2 }).datagram
        // The last 16 bytes are mac2, which nobody looks at who isn't under load.
        for index in 0..<(initiation.count - 16) {
            var damaged = initiation
            damaged[index] ^= 0x10
            pair.gateway.receive(damaged, from: pair.laptop.address)
        }
        for index in 0..<(response.count - 16) {
            var damaged = response
            damaged[index] ^= 0x10
            pair.laptop.receive(damaged, from: pair.gateway.address)
        }
        #expect(pair.network.count(type: 2) == 1)
        #expect(pair.laptop.verdict == .connecting)
        pair.laptop.receive(response, from: pair.gateway.address)
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `datagrams of any type and length change nothing`() {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        var random = SeededGenerator(seed: 5)
        let before = pair.gateway.report()
        for type in 0...255 as ClosedRange<UInt8> {
            for length in [0, 1, 3, 4, 31, 32, 63, 64, 65, 91, 92, 93, 147, 148, 149, 1500] {
                var datagram = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
                for (index, byte) in [type, 0, 0, 0].enumerated() where index < length { datagram[index] = byte }
                pair.gateway.receive(datagram, from: pair.laptop.address)
            }
        }
        #expect(pair.gateway.report() == before)
        #expect(pair.gateway.counters.wrongMac > 0 && pair.gateway.counters.malformed > 0)
    }

    @Test func `a peer that isn't known is not answered`() {
        let network = SimulatedNetwork()
        let stranger = SimulatedNode(network, "192.0.2.9:9", seed: 1, key: 9)
        let gateway = SimulatedNode(network, "198.51.100.1:51820", seed: 2, key: 2)
        stranger.addPeer(gateway.publicKey, endpoint: gateway.address)
        gateway.start()
        stranger.start()
        network.run(for: .seconds(1))
        #expect(gateway.counters.unknownPeer == 1)
        #expect(network.passages.map(\.type) == [1])
    }

    @Test func `a peer's sessions after a rekey still receive what was under way`() {
        let pair = Pair()
        pair.network.jitter = .milliseconds(400)
        pair.network.delay = .milliseconds(100)
        for number in 0..<400 {
            pair.laptop.send([UInt8(number & 255), UInt8(number >> 8)])
            pair.network.run(for: .milliseconds(500))
        }
        pair.network.run(for: .seconds(1))
        #expect(pair.network.count(type: 2) == 2)
        #expect(Set(pair.gateway.received).count == 400)
        #expect(pair.gateway.received.count == 400)
    }

    @Test func `indices are drawn anew for each handshake and spread over all 32 bits`() {
        var counts = [Int](repeating: 0, count: 32)
        var indices: Set<UInt32> = []
        for seed in 0..<400 as Range<UInt64> {
            let pair = Pair(seed: seed)
            guard let datagram = pair.network.passages.first?.datagram else { continue }
            let index = (0..<4).reduce(UInt32(0)) { $0 | UInt32(datagram[4 + $1]) << UInt32($1 * 8) }
            indices.insert(index)
            for bit in 0..<32 where index >> UInt32(bit) & 1 == 1 { counts[bit] += 1 }
        }
        #expect(indices.count == 400)
        #expect(counts.allSatisfy { (140...260).contains($0) })
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
