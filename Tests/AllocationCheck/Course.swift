import CAllocCounter
import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import WireGuardCore
import WireGuardProvider

/// Traffic of one kind through two packet loops, with all allocations of the process counted.
struct Course {
    enum Failure: Error { case lost(sent: Int, received: Int), refused(Int32) }

    let name: String
    /// What is given to the first loop's device, again and again.
    let given: [UInt8]
    /// Packets that it stands for.
    let packetsEach: Int
    let isIPv6: Bool

    private static let rounds = 100
    private static let burst = 50

    /// Packets counted, each once on its way out and once on its way in.
    var packets: Int { Course.rounds * Course.burst * packetsEach }

    static var all: [Course] {
        var result: [Course] = []
        for isIPv6 in [false, true] {
            for isTCP in [true, false] {
                let kind = "\(isTCP ? "TCP" : "UDP") over \(isIPv6 ? "IPv6" : "IPv4")"
                let single = TestPacket(isIPv6: isIPv6, isTCP: isTCP, payload: [UInt8](repeating: 1, count: 500))
                let many = TestPacket(isIPv6: isIPv6, isTCP: isTCP, payload: [UInt8](repeating: 2, count: 20 * 1300))
                result.append(
                    Course(
                        name: "single packets, \(kind)",
                        given: VirtioHeader().bytes + single.bytes,
                        packetsEach: 1,
                        isIPv6: isIPv6
                    )
                )
                result.append(
                    Course(
                        name: "super-packets, \(kind)",
                        given: many.superPacket(segmentSize: 1300),
                        packetsEach: 20,
                        isIPv6: isIPv6
                    )
                )
            }
        }
        return result
    }

    /// - Returns: the allocations while the traffic ran, after some to warm up.
    func run() async throws -> UInt64 {
        let left = try LoopEnd(peer: 2)
        let right = try LoopEnd(peer: 1)
        let session = SessionPair()
        right.loop.post(.install(LoopEnd.peer, session.responder))
        left.loop.post(
            .setEndpoint(LoopEnd.peer, isIPv6 ? right.v6 : right.v4),
            .install(LoopEnd.peer, session.initiator),
            .keepalive(LoopEnd.peer)
        )
        left.watch.setWatched(true)
        right.watch.setWatched(true)
        try await left.loop.start()
        try await right.loop.start()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: TunDevice.longestRead, alignment: 8)
        defer { unsafe buffer.deallocate() }
        for _ in 0..<20 { unsafe try pass(from: left, to: right, buffer) }
        let before = alloc_counter_total()
        for _ in 0..<Course.rounds { unsafe try pass(from: left, to: right, buffer) }
        let found = alloc_counter_total() - before
        await left.loop.stop()
        await right.loop.stop()
        return found
    }

    /// A burst at one end, and all of it at the other.
    private func pass(from: LoopEnd, to: LoopEnd, _ buffer: UnsafeMutableRawBufferPointer) throws {
        for _ in 0..<Course.burst {
            let result = unsafe given.withUnsafeBytes { unsafe send(from.outside.raw, $0.baseAddress, $0.count, 0) }
            guard result == given.count else { throw Failure.refused(errno) }
        }
        // What arrives may be merged differently: the bytes behind the headers are what counts.
        let headers = VirtioHeader.size + (isIPv6 ? 40 : 20) + (name.contains("TCP") ? 20 : 8)
        let expected = Course.burst * (given.count - headers)
        var arrived = 0
        while arrived < expected {
            var entry = pollfd(fd: to.outside.raw, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&entry, 1, 2000) > 0 else { throw Failure.lost(sent: expected, received: arrived) }
            let length = unsafe recv(to.outside.raw, buffer.baseAddress, buffer.count, 0)
            guard length > headers else { throw Failure.refused(errno) }
            arrived += length - headers
        }
    }
}

/// A packet loop with a socket pair for its TUN device, on loopback.
private final class LoopEnd {
    static let peer = PeerIdentifier(1)

    let loop: PacketLoop
    let watch = PeerWatch()
    let outside: SharedDescriptor
    let v4: Endpoint
    let v6: Endpoint

    init(peer: UInt8) throws {
        let (inside, outside) = try packetPair()
        self.outside = outside
        let device = TunDevice(
            descriptor: inside,
            name: "check",
            headerLength: VirtioHeader.size,
            offloads: [.checksum, .tcp, .udp]
        )
        let socket4 = try UDPSocket(adopting: loopbackSocket())
        let socket6 = try UDPSocket(adopting: loopbackSocket(isIPv6: true))
        v4 = Endpoint(.v4(.loopback), port: socket4.port)
        v6 = Endpoint(.v6(.loopback), port: socket6.port)
        loop = try PacketLoop(
            device: device,
            v4: socket4,
            v6: socket6,
            mtu: 1420,
            noticeQueue: DispatchQueue(label: "notices"),
            handler: { @Sendable _ in }
        )
        var allowed = AllowedIPs<PeerIdentifier>()
        allowed.assign(IPPrefix(host: .v4(IPv4Address(10, 0, 0, peer))), to: LoopEnd.peer)
        allowed.assign(
            IPPrefix(host: .v6(IPv6Address(high: 0xfd00_0000_0000_0000, low: UInt64(peer)))),
            to: LoopEnd.peer
        )
        loop.post(.addPeer(LoopEnd.peer, watch, endpoint: nil), .setAllowedIPs(allowed.table()))
    }
}
