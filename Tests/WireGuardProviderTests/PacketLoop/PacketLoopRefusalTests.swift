import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import TestSupport
import Testing
import WireGuardCore
import WireGuardProvider

/// What the sender of a packet that can't be delivered is told.
@Suite struct PacketLoopRefusalTests {
    @Test(arguments: [true, false], [true, false])
    func `a packet that no peer has an allowed IP for is answered at once`(isIPv6: Bool, hasHeader: Bool) async throws {
        let rig = try await LoopRig(hasHeader: hasHeader)
        let packet = TestPacket(isIPv6: isIPv6, isTCP: false, destination: 9, payload: [1, 2, 3])
        rig.give(packet)
        let answers = rig.taken(1)
        #expect(answers == [unreachable(packet.bytes)] && rig.counts(1, \.noPeer))
        await rig.loop.stop()
    }

    @Test(arguments: [true, false])
    func `so is one to a peer without an endpoint, until it has one`(isIPv6: Bool) async throws {
        let rig = try await LoopRig()
        let packet = TestPacket(isIPv6: isIPv6, payload: [1])
        rig.give(packet)
        #expect(rig.taken(1) == [unreachable(packet.bytes)] && rig.counts(1, \.noEndpoint))
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
        rig.give(packet)
        #expect(peer.received(1).count == 1 && rig.isQuiet)
        await rig.loop.stop()
    }

    @Test func `a peer that is silent is no reason, its packets wait`() async throws {
        let rig = try await LoopRig()
        let peer = try ScriptedPeer(SessionPair().responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint))
        rig.give(TestPacket(payload: [1]))
        #expect(rig.told(.handshakeWanted(LoopRig.peer)) && rig.isQuiet)
        await rig.loop.stop()
    }

    @Test func `a checksum that the stack left to the device is right in what is quoted`() async throws {
        let rig = try await LoopRig()
        let packet = TestPacket(destination: 9, payload: [1, 2, 3])
        var given = packet.superPacket(segmentSize: 0)
        given[1] = 0  // no super-packet, just without its checksum
        rig.give(given)
        #expect(rig.taken(1) == [unreachable(packet.bytes)])
        await rig.loop.stop()
    }

    @Test(arguments: [true, false], [true, false])
    func `a super-packet is answered once, about its first packet`(isIPv6: Bool, isTCP: Bool) async throws {
        let rig = try await LoopRig()
        let whole = TestPacket(
            isIPv6: isIPv6,
            isTCP: isTCP,
            destination: 9,
            sequence: 77,
            payload: (0..<50000).map { UInt8(truncatingIfNeeded: $0) }
        )
        rig.give(whole.superPacket(segmentSize: 1300))
        #expect(rig.taken(1) == [unreachable(whole.segments(of: 1300)[0].bytes)] && rig.isQuiet)
        await rig.loop.stop()
    }

    @Test func `errors, fragments and what comes from many are never answered`() async throws {
        let rig = try await LoopRig()
        var fragment = TestPacket(isTCP: false, destination: 9, payload: [1])
        fragment.fragment = 0x0001
        var fault = TestPacket(isTCP: false, destination: 9, payload: [1]).bytes
        fault[9] = 1
        fault[20] = 3
        var group = TestPacket(isIPv6: true, payload: [1]).bytes
        group[24] = 0xff
        // Their own answer too, if it ever comes back.
        let answer = unreachable(TestPacket(destination: 9, payload: [1]).bytes)
        for packet in [fragment.bytes, fault, group, answer] { rig.give(VirtioHeader().bytes + packet) }
        #expect(rig.counts(4, \.noPeer) && rig.isQuiet)
        await rig.loop.stop()
    }

    @Test func `of a flood only a few are answered, and all are counted`() async throws {
        let rig = try await LoopRig()
        let begin = Instant.now()
        for index in 0..<10_000 {
            rig.give(TestPacket(isTCP: false, destination: 9, payload: [1]))
            // As many as the socket pair that plays the device can hold.
            if index % 50 == 49 { #expect(rig.counts(UInt64(index + 1), \.noPeer)) }
        }
        var answers = 0
        while !rig.isQuiet { answers += rig.taken(1).count }
        let seconds = (Instant.now() - begin).inSeconds
        #expect(answers >= 50 && Double(answers) <= 50 + 10 * seconds + 1, "\(answers) in \(seconds) s")
        await rig.loop.stop()
    }

    /// What RFC 792 and RFC 4443 would have said of a packet, from its own destination.
    private func unreachable(_ packet: [UInt8]) -> [UInt8] {
        if packet[0] >> 4 == 6 {
            var message = [1, 3, 0, 0, 0, 0, 0, 0] + packet.prefix(1232)
            let addresses = Array(packet[24..<40] + packet[8..<24])
            let sum = checksum(addresses + big(UInt32(message.count)) + big(UInt32(58)) + message)
            message.replaceSubrange(2..<4, with: big(sum))
            return [0x60, 0, 0, 0] + big(UInt16(message.count)) + [58, 64] + addresses + message
        }
        var message = [3, 1, 0, 0, 0, 0, 0, 0] + packet.prefix(548)
        message.replaceSubrange(2..<4, with: big(checksum(message)))
        var header = [0x45, packet[1] & 0x1e | 0xc0] + big(UInt16(20 + message.count)) + [0, 0, 0x40, 0, 64, 1, 0, 0]
        header += packet[16..<20] + packet[12..<16]
        header.replaceSubrange(10..<12, with: big(checksum(header)))
        return header + message
    }
}
