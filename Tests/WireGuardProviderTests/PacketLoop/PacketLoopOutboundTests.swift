import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import Synchronization
import TestSupport
import Testing
import WireGuardCore
import WireGuardProvider

/// What a loop makes of what is to go out, and of what it is told.
@Suite struct PacketLoopOutboundTests {
    @Test func `packets wait for a session, ask for a handshake, and go once there is one`() async throws {
        let rig = try await LoopRig()
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint))
        let packets = (0..<3).map { TestPacket(payload: [UInt8($0)]) }
        packets.forEach(rig.give)
        #expect(rig.told(.handshakeWanted(LoopRig.peer)))
        #expect(await eventually { rig.watch.sample.isWaiting })
        rig.loop.post(.install(LoopRig.peer, session.initiator), .keepalive(LoopRig.peer))
        #expect(peer.received(3).map { Array($0.content.prefix(41)) } == packets.map(\.bytes))
        #expect(await eventually { !rig.watch.sample.isWaiting && rig.watch.sample.lastDataSent != nil })
        #expect(rig.allTold.filter { $0 == .handshakeWanted(LoopRig.peer) }.count == 1)
        await rig.loop.stop()
    }

    @Test func `of too many waiting packets the newest are kept`() async throws {
        let rig = try await LoopRig()
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint))
        let packets = (0..<200).map { TestPacket(payload: [UInt8($0)]) }
        packets.forEach(rig.give)
        #expect(rig.counts(72, \.stagedDropped))
        rig.loop.post(.install(LoopRig.peer, session.initiator), .keepalive(LoopRig.peer))
        #expect(peer.received(128).map { Array($0.content.prefix(41)) } == packets.suffix(128).map(\.bytes))
        await rig.loop.stop()
    }

    @Test func `a responder sends with a session only once it is confirmed`() async throws {
        let rig = try await LoopRig()
        let session = SessionPair()
        let peer = try ScriptedPeer(session.initiator)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.responder))
        rig.loop.post(.keepalive(LoopRig.peer))
        rig.give(TestPacket(payload: [5]))
        #expect(rig.told(.handshakeWanted(LoopRig.peer)))
        #expect(peer.isQuiet)
        peer.sendPacket([], to: rig.v4)
        #expect(peer.received(1).map { Array($0.content.prefix(41)) } == [TestPacket(payload: [5]).bytes])
        await rig.loop.stop()
    }

    @Test func `a session that has ended is not sent with, one that is old is renewed`() async throws {
        for (age, sends) in [(119, true), (120, true), (180, false)] {
            let rig = try await LoopRig()
            let session = SessionPair(createdAt: .now() + .seconds(-age))
            let peer = try ScriptedPeer(session.responder)
            rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
            rig.give(TestPacket(payload: [5]))
            if sends {
                #expect(peer.received(1).count == 1)
                #expect(await eventually { rig.watch.sample.lastDataSent != nil })
            }
            if age == 119 {
                #expect(!rig.allTold.contains(.handshakeWanted(LoopRig.peer)))
            } else {
                #expect(rig.told(.handshakeWanted(LoopRig.peer)))
            }
            #expect(rig.watch.sample.isWaiting == !sends)
            await rig.loop.stop()
        }
    }

    @Test func `counters go up by one, and packets are padded to 16 bytes but not beyond the MTU`() async throws {
        let (rig, peer) = try await connected(mtu: 1420)
        let lengths = [0, 1, 8, 9, 1379, 1380].map { 40 + $0 }
        for length in lengths { rig.give(TestPacket(payload: [UInt8](repeating: 3, count: length - 40))) }
        let messages = peer.received(lengths.count)
        #expect(messages.map(\.content.count) == [48, 48, 48, 64, 1420, 1420])
        #expect(messages.map(\.counter) == [1, 2, 3, 4, 5, 6])
        rig.loop.post(.setMTU(45))
        rig.give(TestPacket(payload: [1]))
        #expect(peer.received(1).first?.content.count == 45)
        await rig.loop.stop()
    }

    @Test func `the congestion mark is copied out, and nothing else of the traffic class`() async throws {
        let (rig, peer) = try await connected()
        for mark in UInt8(0)...3 {
            rig.give(TestPacket(trafficClass: 0xb8 | mark, payload: [1]))
            #expect(peer.received(1).map(\.ecn) == [mark])
        }
        await rig.loop.stop()
    }

    @Test func `a packet for nobody is counted, and what is no packet too`() async throws {
        let (rig, peer) = try await connected()
        rig.give(TestPacket(destination: 9, payload: [1]))
        #expect(rig.counts(1, \.noPeer))
        rig.give(VirtioHeader().bytes + [0x45, 0, 0])
        rig.give(VirtioHeader().bytes)
        rig.give([1, 2, 3])
        #expect(rig.counts(3, \.malformed))
        rig.loop.post(.setEndpoint(LoopRig.peer, nil))
        rig.give(TestPacket(payload: [1]))
        #expect(rig.counts(1, \.noEndpoint) && peer.isQuiet)
        await rig.loop.stop()
    }

    /// C040: the route to the peer leads into the tunnel.
    @Test func `our own datagrams that come back into the tunnel are dropped`() async throws {
        let (rig, peer) = try await connected()
        var allowed = AllowedIPs<PeerIdentifier>()
        allowed.assign(.allIPv4, to: LoopRig.peer)
        rig.loop.post(.setAllowedIPs(allowed.table()))
        var outer: [UInt8] = [0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]
        outer += big(rig.v4.port) + big(peer.endpoint.port) + [0, 40, 0, 0] + [UInt8](repeating: 4, count: 32)
        rig.give(VirtioHeader().bytes + outer)
        #expect(rig.counts(1, \.looped))
        outer[21] ^= 1  // another source port: somebody else's datagram
        rig.give(VirtioHeader().bytes + outer)
        #expect(peer.received(1).map { Array($0.content.prefix(60)) } == [outer])
        #expect(rig.loop.counters.looped == 1)
        await rig.loop.stop()
    }

    @Test func `a keepalive is an empty packet, and a plain datagram goes as it is, after the session before it`()
        async throws
    {
        let (rig, peer) = try await connected()
        rig.loop.post(.keepalive(LoopRig.peer), .send([2, 9, 9], to: peer.endpoint))
        #expect(peer.received(1) == [ScriptedPeer.Message(counter: 1, content: [], ecn: 0)])
        #expect(peer.receive()?.datagrams == [[2, 9, 9]])
        #expect(await eventually { rig.watch.sample.lastAnySent != nil } && rig.watch.sample.lastDataSent == nil)
        await rig.loop.stop()
    }

    @Test func `packets given up on are forgotten`() async throws {
        let rig = try await LoopRig()
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint))
        rig.give(TestPacket(payload: [1]))
        #expect(rig.told(.handshakeWanted(LoopRig.peer)))
        rig.loop.post(.dropStaged(LoopRig.peer))
        #expect(rig.counts(1, \.stagedDropped))
        // The next packet asks anew at once, though less than a second has passed.
        rig.forgetNotices()
        rig.give(TestPacket(payload: [2]))
        #expect(rig.told(.handshakeWanted(LoopRig.peer)))
        await rig.loop.stop()
    }

    @Test func `a closed port is told with its address`() async throws {
        let rig = try await LoopRig()
        let closed = try ScriptedPeer(SessionPair().responder).endpoint
        rig.loop.post(.send([1, 2, 3], to: closed))
        #expect(rig.told(.pathError(closed, code: ECONNREFUSED)))
        await rig.loop.stop()
    }

    @Test func `other sockets take over, and one that can't be used is told`() async throws {
        let (rig, peer) = try await connected()
        let replacement = try loopbackSocket()
        rig.loop.post(.setSockets(v4: replacement, v6: try packetPair().0))
        #expect(rig.told { if case .socketFailed = $0 { true } else { false } } != nil)
        rig.give(TestPacket(payload: [1]))
        #expect(peer.received(1).count == 1)
        let endpoint = Endpoint(.v4(.loopback), port: try UDPSocket(adopting: replacement).port)
        peer.sendPacket(TestPacket(source: 2, destination: 1, payload: [1]).bytes, to: endpoint)
        #expect(rig.taken(1).count == 1)
        #expect(rig.loop.abilities.v6 == nil && rig.loop.abilities.v4 != nil)
        await rig.loop.stop()
    }

    @Test func `traffic calls for a timer where nobody watches, and life is told where it was asked for`() async throws
    {
        let (rig, peer) = try await connected()
        rig.give(TestPacket(payload: [1]))
        #expect(rig.told(.timerWanted(LoopRig.peer)))
        #expect(rig.watch.setWatched(true))
        #expect(!rig.watch.askHeard(since: .now()))
        rig.forgetNotices()
        peer.sendPacket(TestPacket(source: 2, destination: 1, payload: [1]).bytes, to: rig.v4)
        #expect(rig.told(.heard(LoopRig.peer)))
        rig.give(TestPacket(payload: [1]))
        #expect(peer.received(2).count == 2)
        #expect(!rig.allTold.contains(.timerWanted(LoopRig.peer)))
        #expect(rig.watch.askHeard(since: .zero))
        await rig.loop.stop()
    }

    @Test func `a device that is deleted is told and read no more, though it stays readable`() async throws {
        let (inside, outside) = try packetPair()
        let calls = unsafe TunCalls(
            read: { _, _, _ in
                reads.add(1, ordering: .relaxed)
                return -Int(EBADFD)
            },
            write: { _, _, _ in -Int(EBADFD) }
        )
        let device = TunDevice(descriptor: inside, name: "test", headerLength: 10, offloads: [], calls: calls)
        let log = NoticeLog()
        let loop = try PacketLoop(
            device: device,
            v4: nil,
            v6: nil,
            mtu: 1420,
            noticeQueue: DispatchQueue(label: "notices"),
            handler: { @Sendable in log.add($0) }
        )
        try await loop.start()
        #expect(unsafe send(outside.raw, [1], 1, 0) == 1)
        #expect(log.wait { $0 == .deviceFailed(EBADFD) } != nil)
        usleep(20_000)
        #expect(reads.load(ordering: .relaxed) == 1 && log.all.count == 1)
        await loop.stop()
    }

    /// A session that the rig began, 10.0.0.1 at its end; its first message was an empty one.
    private func connected(mtu: Int = 1420) async throws -> (LoopRig, ScriptedPeer) {
        let rig = try await LoopRig(mtu: mtu)
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(
            .setEndpoint(LoopRig.peer, peer.endpoint),
            .install(LoopRig.peer, session.initiator),
            .keepalive(LoopRig.peer)
        )
        #expect(peer.received(1) == [ScriptedPeer.Message(counter: 0, content: [], ecn: 0)])
        return (rig, peer)
    }
}

private let reads = Atomic<Int>(0)
