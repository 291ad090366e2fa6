import NetworkTypes
import PacketTestSupport
import TestSupport
import Testing
import WireGuardCore
import WireGuardProvider

/// C062: a path that swallows long packets without a word.
@Suite struct PacketLoopBlackHoleTests {
    @Test(arguments: [false, true], [false, true])
    func `what passes is found with the packets of a TCP connection`(isIPv6: Bool, isSuper: Bool) async throws {
        let (rig, session) = (try await LoopRig(mtu: 1440), SessionPair())
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
        var packet = TestPacket(isIPv6: isIPv6, sequence: 0xffff_f000, flags: 0x18)
        packet.payload = (0..<1440 - packet.headerLength).map { UInt8(truncatingIfNeeded: $0) }

        // Sent and sent again, and cut the third time, to what every path is to take.
        for _ in 0..<2 { #expect(carried(packet, rig, peer, isSuper) == [packet.bytes]) }
        let pieces = packet.segments(of: 1220 - packet.headerLength).map(\.bytes)
        #expect(carried(packet, rig, peer, isSuper) == pieces)
        #expect(rig.loop.counters.tooBig == 0)

        // A path of 1400 bytes: what is longer than 1340 inside is lost, and sent again.
        // Three long ones are risked, then 1380, 1320, 1360 and 1340 bytes.
        for _ in 0..<7 {
            acknowledge(packet, rig, peer)
            packet.sequence &+= UInt32(packet.payload.count)
            if carried(packet, rig, peer, isSuper).contains(where: { $0.count > 1340 }) {
                #expect(carried(packet, rig, peer, isSuper).allSatisfy { $0.count <= 1340 })
            }
        }
        acknowledge(packet, rig, peer)
        packet.sequence &+= UInt32(packet.payload.count)
        #expect(rig.told(.blackHole(peer.endpoint, passing: 1400, failing: 1420)))

        // From now on the sender is told, until the limit is given up.
        rig.give(packet)
        #expect(rig.taken(1).count == 1 && rig.counts(1, \.tooBig))
        rig.loop.post(.forgetPaths, .forgetBlackHoles(at: .v4(IPv4Address(192, 0, 2, 1))))
        rig.give(packet)
        #expect(rig.taken(1).count == 1 && rig.counts(2, \.tooBig))
        rig.loop.post(.forgetBlackHoles(at: peer.endpoint.address))
        #expect(carried(packet, rig, peer, isSuper) == [packet.bytes])
        await rig.loop.stop()
    }

    /// The packets that the peer gets of one, without their padding.
    private func carried(_ packet: TestPacket, _ rig: LoopRig, _ peer: ScriptedPeer, _ isSuper: Bool) -> [[UInt8]] {
        // A socket's retransmission leaves the checksum to the device; a forwarded packet has it.
        if isSuper {
            var given = packet.superPacket(segmentSize: 0)
            given[1] = 0  // gso_type: none
            rig.give(given)
        } else {
            rig.give(packet)
        }
        var result: [[UInt8]] = []
        var missing = packet.payload.count
        while missing > 0 {
            let messages = peer.received(1)
            // Nothing came in time; what is there is compared.
            guard !messages.isEmpty else { break }
            for message in messages {
                let content = message.content
                let length =
                    packet.isIPv6
                    ? 40 + Int(content[4]) << 8 + Int(content[5]) : Int(content[2]) << 8 + Int(content[3])
                missing -= length - packet.headerLength
                result.append(Array(content.prefix(length)))
            }
        }
        return result
    }

    private func acknowledge(_ packet: TestPacket, _ rig: LoopRig, _ peer: ScriptedPeer) {
        var answer = TestPacket(isIPv6: packet.isIPv6, source: packet.destination, destination: packet.source)
        (answer.sourcePort, answer.destinationPort) = (packet.destinationPort, packet.sourcePort)
        answer.acknowledgement = packet.sequence &+ UInt32(packet.payload.count)
        peer.sendPacket(answer.bytes, to: rig.v4)
        #expect(rig.taken(1) == [answer.bytes])
    }
}
