import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import TestSupport
import Testing
import WireGuardConfig
import WireGuardProvider

/// Offloads switched off and on by hand, in a loop that runs.
@Suite struct PacketLoopOffloadTests {
    @Test(arguments: Offload.allCases) func `packets pass whatever is switched off, and its use ends`(
        _ offload: Offload
    )
        async throws
    {
        let rig = try await LoopRig()
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
        let before = rig.loop.abilities
        for round in 0..<3 {
            let disabled: Set<Offload> = round == 1 ? [] : [offload]
            rig.loop.post(.setDisabledOffloads(disabled))
            #expect(await eventually { rig.loop.abilities.disabled == disabled })
            let abilities = rig.loop.abilities
            if disabled.isEmpty {
                // The rig's device is no TUN device, which can't take its offloads up again.
                if offload != .tunSegmentation { #expect(abilities == before) }
            } else {
                #expect(abilities.uses(offload) == false)
                for other in Offload.allCases where other != offload {
                    #expect(abilities.uses(other) == before.uses(other))
                }
            }
            // Out, as one super-packet of the device, and in, as one train.
            // What is sent twice would be taken for lost.
            let many = TestPacket(
                sequence: UInt32(round) * 10_000,
                payload: [UInt8](repeating: 7, count: 4 * 1300)
            )
            rig.give(many.superPacket(segmentSize: 1300))
            #expect(peer.received(4).count == 4)
            let packets = (0..<4).map { (index: UInt8) in
                var packet = TestPacket(
                    source: 2,
                    destination: 1,
                    sequence: UInt32(index) * 900,
                    payload: [UInt8](repeating: index, count: 900)
                )
                packet.identification = UInt16(index)
                return packet
            }
            peer.send(packets.map { peer.seal($0.bytes) }, to: rig.v4)
            #expect(rig.taken(4) == packets.map(\.bytes))
        }
        await rig.loop.stop()
    }

    @Test func `other sockets do without it, too`() async throws {
        let rig = try await LoopRig()
        rig.loop.post(.setDisabledOffloads([.udpSegmentation, .udpCoalescing]))
        rig.loop.post(.setSockets(v4: try loopbackSocket(), v6: nil))
        #expect(await eventually { rig.loop.abilities.v6 == nil })
        #expect(rig.loop.abilities.v4 == [.sendBatches, .receiveBatches])
        await rig.loop.stop()
    }
}

extension LoopAbilities {
    fileprivate func uses(_ offload: Offload) -> Bool? {
        switch offload {
        case .tunSegmentation: device.contains(.tcp)
        case .tunCoalescing: merging
        case .udpSegmentation: v4?.contains(.groups)
        case .udpCoalescing: v4?.contains(.trains)
        case .batches: v4?.contains(.sendBatches)
        case .ipsecMB: cipher.hasPrefix("intel-ipsec-mb")
        }
    }
}
