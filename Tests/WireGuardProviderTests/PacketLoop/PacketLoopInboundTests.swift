import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import TestSupport
import Testing
import WireGuardCore
import WireGuardProvider

/// What a loop makes of what comes in; the peer is played message by message.
@Suite struct PacketLoopInboundTests {
    private let packet = TestPacket(source: 2, destination: 1, payload: [1, 2, 3])

    @Test func `padding behind a packet is taken off, by the packet's own length`() async throws {
        let (rig, peer) = try await connected()
        for isIPv6 in [false, true] {
            let packet = TestPacket(isIPv6: isIPv6, source: 2, destination: 1, payload: [1, 2, 3]).bytes
            peer.sendPacket(packet + [UInt8](repeating: 0, count: 16 - packet.count % 16), to: rig.v4)
            #expect(rig.taken(1) == [packet])
        }
        await rig.loop.stop()
    }

    @Test func `an empty packet is a sign of life and delivers nothing`() async throws {
        let (rig, peer) = try await connected()
        let before = rig.watch.sample
        peer.sendPacket([], to: rig.v4)
        #expect(await eventually { rig.watch.sample.receivedBytes == before.receivedBytes + 32 })
        #expect(rig.watch.sample.lastDataReceived == before.lastDataReceived)
        #expect(rig.loop.counters.malformed == 0 && rig.loop.counters.device.packets == 0)
        await rig.loop.stop()
    }

    @Test func `a packet that comes twice is delivered once`() async throws {
        let (rig, peer) = try await connected()
        let message = peer.seal(packet.bytes)
        peer.send([message, message], to: rig.v4)
        #expect(rig.counts(1, \.replayed))
        #expect(rig.taken(1) == [packet.bytes])
        peer.send([peer.seal(packet.bytes, counter: 20000)], to: rig.v4)
        peer.send([peer.seal(packet.bytes, counter: 20001 - 8192)], to: rig.v4)  // the oldest that may be late
        peer.send([peer.seal(packet.bytes, counter: 20000 - 8192)], to: rig.v4)
        #expect(rig.counts(2, \.replayed))
        #expect(rig.taken(2).count == 2)
        await rig.loop.stop()
    }

    @Test func `a changed packet is dropped, and its counter stays good`() async throws {
        let (rig, peer) = try await connected()
        let message = peer.seal(packet.bytes)
        for index in 8..<message.count {
            var changed = message
            changed[index] ^= 0x40
            peer.send([changed], to: rig.v4)
        }
        // A changed counter may also look too old or impossible.
        #expect(
            await eventually { rig.loop.counters.unauthentic + rig.loop.counters.replayed == UInt64(message.count - 8) }
        )
        peer.send([message], to: rig.v4)
        #expect(rig.taken(1) == [packet.bytes])
        await rig.loop.stop()
    }

    @Test func `a stranger's packets neither open nor change where ours go`() async throws {
        let (rig, peer) = try await connected()
        let stranger = try ScriptedPeer(SessionPair(7).initiator)
        stranger.sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.counts(1, \.unknownSession))
        var forged = stranger.seal(packet.bytes)
        forged.replaceSubrange(4..<8, with: little(SessionPair().responder.localIndex))
        stranger.send([forged], to: rig.v4)
        #expect(rig.counts(1, \.unauthentic))
        rig.give(TestPacket(payload: [9]))
        #expect(peer.received(1).first?.content.prefix(41) == TestPacket(payload: [9]).bytes[...])
        #expect(stranger.isQuiet)
        await rig.loop.stop()
    }

    @Test func `a packet from an address that isn't the peer's is dropped`() async throws {
        let (rig, peer) = try await connected()
        for isIPv6 in [false, true] {
            let good = TestPacket(isIPv6: isIPv6, source: 2, destination: 1, payload: [1])
            let bad = TestPacket(isIPv6: isIPv6, source: 3, destination: 1, payload: [1])
            peer.send([good, bad, good].map { peer.seal($0.bytes) }, to: rig.v4)
            #expect(rig.taken(2) == [good.bytes, good.bytes])
        }
        #expect(rig.counts(2, \.wrongSource))
        await rig.loop.stop()
    }

    @Test func `what comes out of the tunnel as no IP packet is dropped`() async throws {
        let (rig, peer) = try await connected()
        var long = packet.bytes
        long[3] = UInt8(long.count + 1)
        let contents = [[0], [UInt8](repeating: 0, count: 64), Array(packet.bytes.prefix(19)), long, [0x60, 0, 0, 0]]
        contents.forEach { peer.sendPacket($0, to: rig.v4) }
        #expect(rig.counts(UInt64(contents.count), \.malformed))
        peer.sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.taken(1) == [packet.bytes])
        await rig.loop.stop()
    }

    @Test func `datagrams of any type, length and content leave the loop at work`() async throws {
        let (rig, peer) = try await connected()
        for type in UInt8(0)...255 {
            for length in [0, 1, 4, 31, 32, 33, 64, 92, 148, 1500] {
                var bytes =
                    [type, 0, 0, 0].prefix(length) + (0..<max(length - 4, 0)).map { _ in UInt8.random(in: 0...255) }
                if Int.random(in: 0..<4) == 0, length > 4 { bytes[Int.random(in: 1...3)] = 1 }
                if !bytes.isEmpty { peer.send([Array(bytes)], to: rig.v4) }
            }
        }
        peer.sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.taken(1) == [packet.bytes])
        await rig.loop.stop()
    }

    @Test func `handshake messages of right length are passed on with their source, others not`() async throws {
        let (rig, peer) = try await connected()
        for (type, length) in [(UInt8(1), 148), (2, 92), (3, 64)] {
            let message = [type, 0, 0, 0] + [UInt8](repeating: 7, count: length - 4)
            peer.send([message], to: rig.v4)
            #expect(rig.told(.handshake(message, from: peer.endpoint)))
            peer.send([message + [0]], to: rig.v4)
        }
        #expect(rig.counts(3, \.malformed))
        await rig.loop.stop()
    }

    @Test func `a train may change its session and end in a handshake message`() async throws {
        let (rig, peer) = try await connected()
        let newer = SessionPair(2)
        rig.loop.post(.install(LoopRig.peer, newer.responder))
        let second = try ScriptedPeer(newer.initiator)
        let content = packet.bytes + [UInt8](repeating: 0, count: 5)  // all messages are 80 bytes, as in one train
        let handshake = [3, 0, 0, 0] + [UInt8](repeating: 7, count: 60)
        peer.send([peer.seal(content), second.seal(content), peer.seal(content), handshake], to: rig.v4)
        #expect(rig.taken(3) == [packet.bytes, packet.bytes, packet.bytes])
        #expect(rig.told(.confirmed(LoopRig.peer, localIndex: newer.responder.localIndex)))
        #expect(rig.told(.handshake(handshake, from: peer.endpoint)))
        await rig.loop.stop()
    }

    @Test func `an authentic packet from elsewhere takes the peer there, across families too`() async throws {
        let (rig, peer) = try await connected()
        for isIPv6 in [true, false] {
            let moved = try ScriptedPeer(SessionPair().initiator, isIPv6: isIPv6)
            let message = moved.seal([], counter: peer.counter + (isIPv6 ? 100 : 200))
            moved.send([message], to: isIPv6 ? rig.v6 : rig.v4)
            #expect(rig.told(.roamed(LoopRig.peer, moved.endpoint)))
            rig.give(TestPacket(payload: [9]))
            #expect(moved.received(1).count == 1)
            // The same message from the old address, replayed: nothing changes.
            rig.forgetNotices()
            let replayed = rig.loop.counters.replayed
            peer.send([message], to: rig.v4)
            #expect(rig.counts(replayed + 1, \.replayed))
            rig.give(TestPacket(payload: [9]))
            #expect(moved.received(1).count == 1)
            #expect(!rig.allTold.contains(.roamed(LoopRig.peer, peer.endpoint)))
        }
        await rig.loop.stop()
    }

    @Test func `a mark of congestion on the way is passed on, or the packet dropped`() async throws {
        let (rig, peer) = try await connected()
        for isIPv6 in [false, true] {
            var packet = TestPacket(
                isIPv6: isIPv6,
                trafficClass: 0xb8 | 0b10,
                source: 2,
                destination: 1,
                payload: [1]
            )
            peer.sendPacket(packet.bytes, to: rig.v4, ecn: 0b11)
            packet.trafficClass = 0xb8 | 0b11
            #expect(rig.taken(1) == [packet.bytes])
            packet.trafficClass = 0xb8
            peer.sendPacket(packet.bytes, to: rig.v4, ecn: 0b11)
        }
        #expect(rig.counts(2, \.congested))
        await rig.loop.stop()
    }

    @Test func `a session past its age takes nothing any more`() async throws {
        let rig = try await LoopRig()
        let session = SessionPair(createdAt: .now() + .seconds(-180))
        rig.loop.post(.install(LoopRig.peer, session.responder))
        let peer = try ScriptedPeer(session.initiator)
        peer.sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.counts(1, \.unknownSession))
        await rig.loop.stop()
    }

    @Test func `a session that nears its end while it only receives is due for renewal, by its initiator`() async throws
    {
        for isInitiator in [true, false] {
            let rig = try await LoopRig()
            let session = SessionPair(createdAt: .now() + .seconds(-165))
            rig.loop.post(.install(LoopRig.peer, isInitiator ? session.initiator : session.responder))
            let peer = try ScriptedPeer(isInitiator ? session.responder : session.initiator)
            peer.sendPacket(packet.bytes, to: rig.v4)
            #expect(rig.taken(1) == [packet.bytes])
            #expect(await eventually { rig.watch.sample.receivedBytes > 0 })
            if isInitiator { #expect(rig.told(.handshakeWanted(LoopRig.peer))) }
            await rig.loop.stop()
            #expect(rig.allTold.contains(.handshakeWanted(LoopRig.peer)) == isInitiator)
        }
    }

    @Test func `wiped sessions and removed peers are strangers`() async throws {
        let (rig, peer) = try await connected()
        rig.loop.post(.wipeSessions(LoopRig.peer))
        peer.sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.counts(1, \.unknownSession))
        rig.loop.post(.install(LoopRig.peer, SessionPair(3).responder), .removePeer(LoopRig.peer))
        try ScriptedPeer(SessionPair(3).initiator).sendPacket(packet.bytes, to: rig.v4)
        #expect(rig.counts(2, \.unknownSession))
        await rig.loop.stop()
    }

    /// 10.0.0.1 is the rig's end, 10.0.0.2 the scripted peer's, who began the session.
    private func connected() async throws -> (LoopRig, ScriptedPeer) {
        let rig = try await LoopRig()
        let session = SessionPair()
        rig.loop.post(.install(LoopRig.peer, session.responder))
        let peer = try ScriptedPeer(session.initiator)
        peer.sendPacket([], to: rig.v4)
        #expect(rig.told(.confirmed(LoopRig.peer, localIndex: session.responder.localIndex)))
        #expect(rig.told(.roamed(LoopRig.peer, peer.endpoint)))
        rig.forgetNotices()
        return (rig, peer)
    }
}
