import NetworkTypes
import TestSupport
import Testing
import TunnelCrypto
import WireGuardCore

/// Handshakes under load.
@Suite struct CookieTests {
    @Test(arguments: [false, true])
    func `an honest peer connects within 10 s of a flood of 5,000 initiations a second`(fromManySources: Bool) {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: fromManySources)
        attacker.flood(for: .seconds(1), perSecond: 5000)
        let served = pair.gateway.counters.unknownPeer
        pair.laptop.start()
        attacker.flood(for: .seconds(10), perSecond: 5000) { pair.laptop.verdict == .connected }
        #expect(pair.laptop.verdict == .connected)
        // Once the burst is used up, nobody without a cookie costs a key agreement.
        #expect(served <= 280)
        #expect(pair.gateway.counters.unknownPeer - served <= (fromManySources ? 0 : 10 * 20))
        #expect(pair.gateway.counters.cookiesSent > 1000)
    }

    @Test func `a source beyond its rate is answered with cookies while others are served`() {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: false)
        for _ in 0..<50 { attacker.sendOne() }
        #expect(pair.gateway.counters.unknownPeer == 20)
        #expect(pair.gateway.counters.cookiesSent == 30)
        pair.laptop.start()
        pair.network.run(for: .seconds(1))
        #expect(pair.laptop.verdict == .connected)
        #expect(pair.network.count(type: 1, from: pair.laptop.address) == 1)
    }

    @Test func `a cookie is used for the next initiation, and only from the address that it was given to`() throws {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: true)
        attacker.flood(for: .seconds(1))
        pair.laptop.start()
        attacker.flood(for: .seconds(1))
        let first = try #require(pair.network.passages.first { $0.source == pair.laptop.address })
        #expect(first.datagram.suffix(16).allSatisfy { $0 == 0 })
        #expect(pair.network.passages.contains { $0.type == 3 && $0.destination == pair.laptop.address })
        let served = pair.network.count(type: 2)
        attacker.flood(for: .seconds(5)) { pair.network.count(type: 1, from: pair.laptop.address) == 2 }
        let second = try #require(pair.network.passages.last { $0.source == pair.laptop.address && $0.type == 1 })
        #expect(!second.datagram.suffix(16).allSatisfy { $0 == 0 })
        // Another source with the same bytes gets a cookie of its own.
        let cookies = pair.gateway.counters.cookiesSent
        pair.gateway.receive(second.datagram, from: Endpoint(pair.laptop.address.address, port: 999))
        #expect(pair.gateway.counters.cookiesSent == cookies + 1)
        #expect(pair.network.count(type: 2) == served)
    }

    @Test func `a source with a cookie is limited too`() throws {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: true)
        attacker.flood(for: .seconds(1))
        pair.laptop.start()
        attacker.flood(for: .seconds(6))
        let signed = try #require(pair.network.passages.last { $0.source == pair.laptop.address && $0.type == 1 })
        let before = pair.gateway.counters
        for _ in 0..<100 { pair.gateway.receive(signed.datagram, from: pair.laptop.address) }
        let after = pair.gateway.counters
        #expect(after.replayed - before.replayed <= 50)
        #expect(after.limited - before.limited >= 50)
    }

    @Test func `a cookie ends after 120 s`() throws {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: true)
        attacker.flood(for: .seconds(1))
        pair.laptop.start()
        attacker.flood(for: .milliseconds(100))
        #expect(pair.network.passages.contains { $0.type == 3 && $0.destination == pair.laptop.address })
        pair.network.blocks = { $0.type == 2 }
        pair.network.run(for: .seconds(200))
        let initiations = pair.network.passages.filter { $0.type == 1 && $0.source == pair.laptop.address }
        let withCookie = initiations.filter { !$0.datagram.suffix(16).allSatisfy { $0 == 0 } }
        #expect(withCookie.count >= 3)
        #expect(withCookie.allSatisfy { ($0.time - initiations[0].time).inSeconds < 116 })
        #expect(initiations.count > withCookie.count + 1)
    }

    @Test func `a cookie in answer to our response is used for the next one`() throws {
        let pair = Pair()
        pair.network.run(for: .seconds(1))
        let first = try #require(pair.network.passages.first { $0.type == 2 }).datagram
        #expect(first.suffix(16).allSatisfy { $0 == 0 })
        // What a laptop under load would have answered.
        let (nonce, cookie) = ([UInt8](repeating: 8, count: 24), [UInt8](repeating: 9, count: 16))
        let (label, publicKey) = (Array("cookie--".utf8), pair.laptop.publicKey.bytes)
        let key = LibraryCryptography.hash(label.raw, publicKey.raw)
        let mac1 = Array(first[60..<76])
        let sealed = LibraryCryptography.sealCookie(cookie.raw, key: key.raw, nonce: nonce.raw, additional: mac1.raw)
        pair.gateway.receive([3, 0, 0, 0] + first[4..<8] + nonce + sealed, from: pair.laptop.address)
        #expect(pair.gateway.counters == HandshakeCounters())
        // The next one, within the cookie's time.
        pair.network.run(for: .seconds(60))
        pair.network.blocks = { $0.type == 4 }
        pair.laptop.send([1])
        pair.network.run(for: .seconds(16))
        let second = try #require(pair.network.passages.last { $0.type == 2 }).datagram
        let message = Array(second.dropLast(16))
        #expect(second.suffix(16).elementsEqual(LibraryCryptography.mac(message.raw, key: cookie.raw)))
    }

    @Test func `a forged cookie reply changes nothing`() throws {
        let pair = Pair(isStarted: false)
        pair.laptop.start()
        let initiation = try #require(pair.network.passages.first).datagram
        var random = SeededGenerator(seed: 4)
        let forged = [3, 0, 0, 0] + initiation[4..<8] + (0..<56).map { _ in UInt8.random(in: 0...255, using: &random) }
        pair.laptop.receive(forged, from: pair.gateway.address)
        #expect(pair.laptop.counters.notAuthentic == 1)
        pair.gateway.start()
        pair.network.run(for: .seconds(6))
        let second = try #require(pair.network.passages.last { $0.type == 1 }).datagram
        #expect(second.suffix(16).allSatisfy { $0 == 0 })
        #expect(pair.laptop.verdict == .connected)
    }

    @Test func `tables stay small under a flood of sources and are given back afterwards`() {
        let pair = Pair(isStarted: false)
        pair.gateway.start()
        let attacker = Attacker(pair, fromManySources: true)
        attacker.flood(for: .seconds(2), perSecond: 5000)
        #expect(pair.gateway.core.sourceCount == 4096)
        pair.network.run(for: .seconds(10))
        #expect(pair.gateway.core.sourceCount <= 64)
        #expect(pair.gateway.deadline == nil)
    }
}

/// Somebody who knows the gateway's public key, and nothing else.
private final class Attacker {
    private let pair: Pair
    private let fromManySources: Bool
    private let datagram: [UInt8]
    private var count: UInt32 = 0

    init(_ pair: Pair, fromManySources: Bool) {
        self.pair = pair
        self.fromManySources = fromManySources
        // A real initiation of a device that the gateway doesn't know: its mac1 is right.
        let elsewhere = SimulatedNetwork()
        let stranger = SimulatedNode(elsewhere, "203.0.113.1:1", seed: 99, key: 99)
        stranger.addPeer(pair.gateway.publicKey, endpoint: pair.gateway.address)
        stranger.start()
        datagram = elsewhere.passages.first?.datagram ?? []
    }

    func sendOne() {
        count += 1
        let address = fromManySources ? IPv4Address(0x0a00_0000 + count) : IPv4Address(10, 0, 0, 1)
        pair.gateway.receive(datagram, from: Endpoint(.v4(address), port: 4000))
    }

    /// Goes on until the time is over, or something is so.
    func flood(for interval: Interval, perSecond: Int = 1000, until isDone: () -> Bool = { false }) {
        let end = pair.network.now + interval
        while pair.network.now < end, !isDone() {
            for _ in 0..<(perSecond / 100) { sendOne() }
            pair.network.run(for: .milliseconds(10))
        }
    }
}
