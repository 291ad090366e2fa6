import Glibc
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

    @Test func `what is longer than the tunnel's MTU is answered with it, unless it may be fragmented`() async throws {
        let rig = try await LoopRig(mtu: 1300)
        let session = SessionPair()
        let peer = try ScriptedPeer(session.responder)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
        for isIPv6 in [false, true] {
            let packet = sized(1301, isIPv6: isIPv6)
            rig.give(packet)
            #expect(rig.taken(1) == [tooBig(packet.bytes, mtu: 1300)])
        }
        var divisible = sized(1301)
        divisible.fragment = 0
        let passing = [sized(1300), sized(1300, isIPv6: true), divisible]
        passing.forEach(rig.give)
        #expect(peer.received(3).map { Array($0.content.prefix(1300)) } == passing.map { Array($0.bytes.prefix(1300)) })
        #expect(rig.isQuiet && rig.loop.counters.tooBig == 2)
        await rig.loop.stop()
    }

    /// C058, C062: the path to the peer takes 1280 bytes, the tunnel 1420.
    @Test(arguments: [false, true])
    func `what passes no path whole is answered with what does, from the second packet on`(isIPv6: Bool) async throws {
        let (rig, peer) = try await narrow(isIPv6)
        let mtu = isIPv6 ? 1200 : 1220
        // The first finds it out, and isn't lost.
        rig.give(sized(1400))
        #expect(peer.received(1).map { Array($0.content.prefix(1400)) } == [sized(1400).bytes])
        rig.give(sized(mtu + 1))
        #expect(rig.taken(1) == [tooBig(sized(mtu + 1).bytes, mtu: mtu)] && rig.counts(1, \.tooBig))
        rig.give(sized(1281, isIPv6: true))
        #expect(rig.taken(1) == [tooBig(sized(1281, isIPv6: true).bytes, mtu: 1280)])
        let whole = TestPacket(payload: (0..<30000).map { UInt8(truncatingIfNeeded: $0) })
        rig.give(whole.superPacket(segmentSize: 1360))
        #expect(rig.taken(1) == [tooBig(whole.segments(of: 1360)[0].bytes, mtu: mtu)])
        #expect(peer.isQuiet && rig.isQuiet)
        // What fits goes whole, its padding included; what may be divided, and what each path is to take, goes in fragments.
        var divisible = sized(1400)
        divisible.fragment = 0
        let passing = [sized(mtu), sized(mtu - 1), divisible, sized(1280, isIPv6: true)]
        passing.forEach(rig.give)
        let messages = peer.received(4)
        #expect(messages.map { Array($0.content.prefix(mtu - 1)) } == passing.map { Array($0.bytes.prefix(mtu - 1)) })
        #expect(messages.prefix(2).map(\.content.count) == [mtu, mtu])
        // The tunnel's own MTU may follow.
        #expect(rig.told { if case .pathError(_, EMSGSIZE) = $0 { true } else { false } } != nil)
        // Another network: it is found out anew.
        rig.loop.post(.forgetPaths)
        rig.give(sized(1400))
        #expect(peer.received(1).count == 1 && rig.isQuiet && rig.loop.counters.unsent == 0)
        rig.give(sized(1400))
        #expect(rig.taken(1).count == 1)
        await rig.loop.stop()
    }

    @Test func `a peer that is somewhere else has another path`() async throws {
        let (rig, peer) = try await narrow(false)
        rig.give(sized(1400))
        #expect(peer.received(1).count == 1)
        rig.give(sized(1400))
        // Counted at the end of the turn: what comes later is in another, after the command.
        #expect(rig.taken(1).count == 1 && rig.counts(1, \.tooBig))
        // The same port on another address of the loopback device.
        rig.loop.post(.setEndpoint(LoopRig.peer, Endpoint(.v4(IPv4Address(127, 0, 0, 2)), port: peer.endpoint.port)))
        rig.give(sized(1400))
        #expect(rig.isQuiet && rig.loop.counters.tooBig == 1)
        await rig.loop.stop()
    }

    /// A rig and its peer in a network whose loopback takes 1280 bytes, with a session.
    private func narrow(_ isIPv6: Bool) async throws -> (LoopRig, ScriptedPeer) {
        let session = SessionPair()
        let (sockets, peer) = try narrowSockets(session, isIPv6)
        let rig = try await LoopRig(sockets: sockets)
        rig.loop.post(.setEndpoint(LoopRig.peer, peer.endpoint), .install(LoopRig.peer, session.initiator))
        return (rig, peer)
    }

    private func narrowSockets(
        _ session: SessionPair,
        _ isIPv6: Bool
    ) throws -> ((SharedDescriptor, SharedDescriptor), ScriptedPeer) {
        var made: ((SharedDescriptor, SharedDescriptor), ScriptedPeer)?
        try onOwnThread {
            try OwnThread.unshareNetwork()
            try OwnThread.run("ip link set lo mtu 1280 up")
            let sockets = (try loopbackSocket(), try loopbackSocket(isIPv6: true))
            made = (sockets, try ScriptedPeer(session.responder, isIPv6: isIPv6))
        }
        return try #require(made)
    }

    /// A TCP packet of so many bytes.
    private func sized(_ length: Int, isIPv6: Bool = false) -> TestPacket {
        TestPacket(isIPv6: isIPv6, payload: [UInt8](repeating: 5, count: length - (isIPv6 ? 60 : 40)))
    }

    private func unreachable(_ packet: [UInt8]) -> [UInt8] {
        answer(packet, packet[0] >> 4 == 6 ? [1, 3, 0, 0, 0, 0, 0, 0] : [3, 1, 0, 0, 0, 0, 0, 0])
    }

    private func tooBig(_ packet: [UInt8], mtu: Int) -> [UInt8] {
        answer(packet, (packet[0] >> 4 == 6 ? [2, 0, 0, 0] : [3, 4, 0, 0]) + big(UInt32(mtu)))
    }

    /// What RFC 792 and RFC 4443 would have said of a packet, from its own destination.
    private func answer(_ packet: [UInt8], _ head: [UInt8]) -> [UInt8] {
        if packet[0] >> 4 == 6 {
            var message = head + packet.prefix(1232)
            let addresses = Array(packet[24..<40] + packet[8..<24])
            let sum = checksum(addresses + big(UInt32(message.count)) + big(UInt32(58)) + message)
            message.replaceSubrange(2..<4, with: big(sum))
            return [0x60, 0, 0, 0] + big(UInt16(message.count)) + [58, 64] + addresses + message
        }
        var message = head + packet.prefix(548)
        message.replaceSubrange(2..<4, with: big(checksum(message)))
        var header = [0x45, packet[1] & 0x1e | 0xc0] + big(UInt16(20 + message.count)) + [0, 0, 0x40, 0, 64, 1, 0, 0]
        header += packet[16..<20] + packet[12..<16]
        header.replaceSubrange(10..<12, with: big(checksum(header)))
        return header + message
    }
}
