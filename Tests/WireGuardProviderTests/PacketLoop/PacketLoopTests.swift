import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import TestSupport
import Testing
import WireGuardCore
import WireGuardProvider

/// Two loops joined over loopback.
@Suite struct PacketLoopTests {
    @Test(arguments: [false, true], [true, false])
    func `what goes in at one end comes out at the other`(isIPv6: Bool, hasHeader: Bool) async throws {
        let (left, right) = try await joined(isIPv6: isIPv6, hasHeader: hasHeader)
        for innerIPv6 in [false, true] {
            for isTCP in [true, false] {
                let packets = (0..<200).map { index in
                    TestPacket(
                        isIPv6: innerIPv6,
                        isTCP: isTCP,
                        payload: [UInt8](repeating: UInt8(index), count: index % 3 == 0 ? 1000 : 7)
                    )
                }
                packets.forEach(left.give)
                #expect(right.taken(200).map(normal) == packets.map(\.bytes).map(normal))
            }
        }
        #expect(await eventually { right.watch.sample.receivedBytes == left.watch.sample.sentBytes })
        await left.loop.stop()
        await right.loop.stop()
    }

    @Test func `a super-packet goes out as full datagrams and comes in as a super-packet`() async throws {
        let (left, right) = try await joined()
        for innerIPv6 in [false, true] {
            for isTCP in [true, false] {
                let whole = TestPacket(
                    isIPv6: innerIPv6,
                    isTCP: isTCP,
                    payload: (0..<60000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
                )
                left.give(whole.superPacket(segmentSize: 1300))
                #expect(right.taken(47) == whole.segments(of: 1300).map(\.bytes))
            }
        }
        #expect(right.loop.counters.device.packets == 4 * 47)
        await left.loop.stop()
        await right.loop.stop()
    }

    @Test func `random packets and super-packets, both ways at once, all arrive`() async throws {
        let (left, right) = try await joined()
        for _ in 0..<20 {
            let there = (0..<20).map { _ in randomSuperPacket(from: 1, to: 2) }
            let back = (0..<20).map { _ in randomSuperPacket(from: 2, to: 1) }
            for index in 0..<20 {
                left.give(there[index].packet.superPacket(segmentSize: there[index].size))
                right.give(back[index].packet.superPacket(segmentSize: back[index].size))
            }
            let expectedThere = there.flatMap { $0.packet.segments(of: $0.size).map(\.bytes) }
            let expectedBack = back.flatMap { $0.packet.segments(of: $0.size).map(\.bytes) }
            #expect(right.taken(expectedThere.count).map(normal) == expectedThere.map(normal))
            #expect(left.taken(expectedBack.count).map(normal) == expectedBack.map(normal))
        }
        await left.loop.stop()
        await right.loop.stop()
    }

    @Test func `a super-packet of tiny pieces doesn't fit one batch, and still goes out whole`() async throws {
        let (left, right) = try await joined()
        let whole = TestPacket(payload: (0..<20000).map { UInt8(truncatingIfNeeded: $0) })
        left.give(whole.superPacket(segmentSize: 1))
        #expect(right.taken(20000) == whole.segments(of: 1).map(\.bytes))
        await left.loop.stop()
        await right.loop.stop()
    }

    private func randomSuperPacket(from: UInt8, to: UInt8) -> (packet: TestPacket, size: Int) {
        let size = Int.random(in: 500...1300)
        return (
            TestPacket(
                isIPv6: .random(),
                isTCP: .random(),
                trafficClass: .random(in: 0...2),
                source: from,
                destination: to,
                sequence: .random(in: 0...(.max)),
                payload: (0..<Int.random(in: 1...size * 5)).map { _ in .random(in: 0...255) }
            ),
            size
        )
    }

    /// 10.0.0.1 on the left, 10.0.0.2 on the right, with a session that the left one began.
    private func joined(isIPv6: Bool = false, hasHeader: Bool = true) async throws -> (LoopRig, LoopRig) {
        let left = try await LoopRig(peer: 2, hasHeader: hasHeader)
        let right = try await LoopRig(peer: 1, hasHeader: hasHeader)
        let session = SessionPair()
        right.loop.post(.install(LoopRig.peer, session.responder))
        left.loop.post(
            .setEndpoint(LoopRig.peer, isIPv6 ? right.v6 : right.v4),
            .install(LoopRig.peer, session.initiator),
            .keepalive(LoopRig.peer)
        )
        #expect(right.told(.confirmed(LoopRig.peer, localIndex: session.responder.localIndex)))
        #expect(right.told(.roamed(LoopRig.peer, isIPv6 ? left.v6 : left.v4)))
        return (left, right)
    }
}
