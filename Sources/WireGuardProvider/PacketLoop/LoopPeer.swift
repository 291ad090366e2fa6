import NetworkTypes
import PacketIO
import WireGuardCore

/// A peer as the packet loop knows it.
final class LoopPeer {
    let identifier: PeerIdentifier
    let watch: PeerWatch
    /// Where its datagrams go to; `none` until that is known.
    private(set) var address = SocketAddress.none
    /// What the path there takes.
    var path = PathLimit()
    var blackHole = BlackHoleWatch(isIPv6: false)
    var slots = KeyPairSlots<LoopKeyPair>()
    var staged = StagedPackets()
    var sample = TrafficSample()
    /// When a handshake was last asked for; nil once that is settled.
    var handshakeAsked: Instant?

    // Of the batch under way:
    var isTouched = false
    var sentBytes = 0
    var sentData = false
    var receivedBytes = 0
    var receivedData = false

    init(_ identifier: PeerIdentifier, _ watch: PeerWatch, _ endpoint: Endpoint?) {
        self.identifier = identifier
        self.watch = watch
        sample = watch.sample
        if let endpoint { move(to: SocketAddress(endpoint)) }
    }

    /// The longest packet that passes whole, as far as it is known.
    var longest: Int { min(path.longest, blackHole.limit) }

    /// Sends its datagrams elsewhere from now on.
    func move(to address: SocketAddress) {
        guard !self.address.equals(address) else { return }
        self.address = address
        path = PathLimit()
        blackHole = BlackHoleWatch(isIPv6: address.isIPv6)
    }

    /// Enters the batch's traffic into the sample.
    ///
    /// - Returns: what is to be told of it.
    func settle(now: Instant) -> PeerWatch.Edges {
        let heard = receivedBytes > 0
        let before = sample
        if heard { sample.noteReceived(isData: receivedData, bytes: receivedBytes, now: now) }
        if sentBytes > 0 { sample.noteSent(isData: sentData, bytes: sentBytes, now: now) }
        let wantsTimer = sample.wantsTimerSince(before)
        sample.isWaiting = !staged.isEmpty
        isTouched = false
        sentBytes = 0
        sentData = false
        receivedBytes = 0
        receivedData = false
        return watch.publish(sample, wantsTimer: wantsTimer, heard: heard)
    }
}

extension TrafficSample {
    /// Whether something waits for an answer that didn't in an earlier sample.
    fileprivate func wantsTimerSince(_ before: TrafficSample) -> Bool {
        (unansweredSince != nil && unansweredSince != before.unansweredSince)
            || (owedSince != nil && owedSince != before.owedSince)
    }
}

/// Packets that wait for a session, as they were read from the TUN device; when it gets too many, the oldest goes.
struct StagedPackets {
    static let packetLimit = 128
    static let byteLimit = 256 * 1024

    private var packets: [[UInt8]] = []
    private var bytes = 0

    var isEmpty: Bool { packets.isEmpty }
    var count: Int { packets.count }

    /// - Returns: how many had to go for it.
    mutating func append(_ packet: [UInt8]) -> Int {
        packets.append(packet)
        bytes += packet.count
        var dropped = 0
        while packets.count - dropped > StagedPackets.packetLimit
            || (bytes > StagedPackets.byteLimit && packets.count - dropped > 1)
        {
            bytes -= packets[dropped].count
            dropped += 1
        }
        packets.removeFirst(dropped)
        return dropped
    }

    /// Gives all away, oldest first.
    mutating func takeAll() -> [[UInt8]] {
        defer { self = StagedPackets() }
        return packets
    }
}
