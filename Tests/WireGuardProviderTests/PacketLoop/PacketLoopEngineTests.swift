import Dispatch
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import Testing
import WireGuardCore

@testable import WireGuardProvider

/// What the loop keeps of sessions; no packet shows whether one that may not be used any more was wiped.
@Suite struct PacketLoopEngineTests {
    @Test func `sessions past their limit are wiped when that is asked for, and no others`() throws {
        let (inside, outside) = try packetPair()
        let engine = PacketLoopEngine(
            device: TunDevice(descriptor: inside, name: "test", headerLength: 0, offloads: []),
            v4: nil,
            v6: nil,
            mtu: 1420,
            ciphers: [],
            notices: NoticeBox(queue: DispatchQueue(label: "notices")) { @Sendable _ in },
            state: LoopState()
        )
        let epoll = try Epoll()
        let (peer, now) = (PeerIdentifier(1), Instant.zero + .seconds(1000))
        engine.now = now
        engine.obey(.addPeer(peer, PeerWatch(), endpoint: nil), epoll)
        let (old, young) = (SessionPair(1, createdAt: now + .seconds(-180)), SessionPair(2, createdAt: now))
        engine.obey(.install(peer, old.initiator), epoll)
        engine.obey(.install(peer, young.initiator), epoll)
        #expect(engine.sessions.count == 2)
        engine.obey(.wipeExpired(peer), epoll)
        #expect(Array(engine.sessions.keys) == [young.initiator.localIndex])
        #expect(engine.peers[peer]?.slots.all.map(\.keys.localIndex) == [young.initiator.localIndex])
        engine.now = now + .seconds(180)
        engine.obey(.wipeExpired(peer), epoll)
        #expect(engine.sessions.isEmpty && engine.peers[peer]?.slots.all.isEmpty == true)
        withExtendedLifetime(outside) {}
    }
}
