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

/// A packet loop with a socket pair for its TUN device, loopback sockets, one peer, and all that it tells.
final class LoopRig: Sendable {
    static let peer = PeerIdentifier(1)

    let loop: PacketLoop
    let watch = PeerWatch()
    let v4: Endpoint
    let v6: Endpoint
    private let outside: SharedDescriptor
    private let notices: NoticeLog
    private let hasHeader: Bool

    /// - Parameters:
    ///   - peer: what the peer's addresses end in: 10.0.0.`peer` and fd00::`peer`.
    ///   - sockets: those of IPv4 and IPv6, where they are not to be on this machine's own loopback.
    init(
        peer: UInt8 = 2,
        mtu: Int = 1420,
        hasHeader: Bool = true,
        sockets: (SharedDescriptor, SharedDescriptor)? = nil
    ) async throws {
        let (inside, outside) = try packetPair()
        self.outside = outside
        self.hasHeader = hasHeader
        let device = TunDevice(
            descriptor: inside,
            name: "test",
            headerLength: hasHeader ? VirtioHeader.size : 0,
            offloads: hasHeader ? [.checksum, .tcp, .udp] : []
        )
        let (first, second) = try sockets ?? (loopbackSocket(), loopbackSocket(isIPv6: true))
        let (socket4, socket6) = (try UDPSocket(adopting: first), try UDPSocket(adopting: second))
        v4 = Endpoint(.v4(.loopback), port: socket4.port)
        v6 = Endpoint(.v6(.loopback), port: socket6.port)
        let log = NoticeLog()
        notices = log
        loop = try PacketLoop(
            device: device,
            v4: socket4,
            v6: socket6,
            mtu: mtu,
            noticeQueue: DispatchQueue(label: "notices"),
            handler: { @Sendable in log.add($0) }
        )
        var allowed = AllowedIPs<PeerIdentifier>()
        for prefix in ["10.0.0.\(peer)/32", "fd00::\(peer)/128"] {
            allowed.assign(try #require(IPPrefix(prefix)), to: LoopRig.peer)
        }
        loop.post(.addPeer(LoopRig.peer, watch, endpoint: nil), .setAllowedIPs(allowed.table()))
        try await loop.start()
    }

    /// Hands a packet to the loop as the kernel would: 10 bytes of header first, where the device has them.
    func give(_ packet: [UInt8]) { #expect(unsafe send(outside.raw, packet, packet.count, 0) == packet.count) }

    func give(_ packet: TestPacket) { give((hasHeader ? VirtioHeader().bytes : []) + packet.bytes) }

    /// Packets that the loop wrote to its device, super-packets taken apart, until there are so many.
    func taken(_ count: Int) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: TunDevice.longestRead)
        while result.count < count, waitUntilReady(outside.raw) {
            let length = unsafe recv(outside.raw, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard length > 0 else { break }
            let written = Array(buffer.prefix(length))
            result += hasHeader ? cut(written) ?? [] : [written]
        }
        return result
    }

    /// Whether the loop writes nothing to its device.
    var isQuiet: Bool { nothingReadable(outside.raw) }

    /// Waits until the loop has told something that `matches`.
    func told(_ matches: (LoopNotice) -> Bool) -> LoopNotice? { notices.wait(matches) }

    func told(_ notice: LoopNotice) -> Bool { told { $0 == notice } != nil }

    var allTold: [LoopNotice] { notices.all }

    func forgetNotices() { notices.clear() }

    /// Waits until a counter is what it should be.
    func counts(_ value: UInt64, _ counter: KeyPath<LoopCounters, UInt64>) -> Bool {
        blockUntil { loop.counters[keyPath: counter] == value }
    }
}

/// Nobody writes any more when this has passed: only for what must not come.
func nothingReadable(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&entry, 1, 30) == 0
}

final class NoticeLog: Sendable {
    private let list = Mutex<[LoopNotice]>([])

    func add(_ more: [LoopNotice]) { list.withLock { $0 += more } }
    func clear() { list.withLock { $0 = [] } }
    var all: [LoopNotice] { list.withLock { $0 } }

    func wait(_ matches: (LoopNotice) -> Bool) -> LoopNotice? {
        var found: LoopNotice?
        _ = blockUntil {
            found = all.first(where: matches)
            return found != nil
        }
        return found
    }
}
