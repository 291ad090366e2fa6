import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

/// All that the packet loop works on; belongs to its queue.
///
/// The way out stands in `+Outbound`, the way in in `+Inbound`, what others ask for in `+Commands`.
@safe final class PacketLoopEngine {
    let device: TunDevice
    let writer: TunWriter
    let refusals: Refusals
    var ciphers: LoopCiphers
    private let backEnds: Set<CipherEngine.BackEnd>
    /// Those switched off by hand.
    private(set) var disabledOffloads: Set<Offload> = []
    var v4: UDPSocket?
    var v6: UDPSocket?
    var mtu: Int
    /// Whether the kernel may cut outer packets that are too long for the path.
    var mayFragment = true
    let notices: NoticeBox
    private let state: LoopState
    private let events = EpollBuffer(capacity: 8)

    var peers: [PeerIdentifier: LoopPeer] = [:]
    /// Sessions by our index.
    var sessions: [UInt32: LoopKeyPair] = [:]
    var allowedIPs = AllowedIPsTable<PeerIdentifier>()
    /// Peers with traffic in the round under way.
    private var touched: [LoopPeer] = []

    let input: UnsafeMutableRawBufferPointer
    let batch = SendBatch()
    let ring = ReceiveRing()
    /// Trains asked for in one reception, so that it gives about as much as one turn may take.
    var trainsWanted = ReceiveRing.count
    var counters = LoopCounters()
    private var deviceIsGone = false
    private var abilities = LoopAbilities()
    /// CLOCK_BOOTTIME, read once a round.
    var now = Instant.zero

    init(
        device: TunDevice,
        v4: UDPSocket?,
        v6: UDPSocket?,
        mtu: Int,
        ciphers backEnds: Set<CipherEngine.BackEnd>,
        notices: NoticeBox,
        state: LoopState
    ) {
        self.device = device
        self.backEnds = backEnds
        ciphers = LoopCiphers(allowing: backEnds)
        self.v4 = v4
        self.v6 = v6
        self.mtu = mtu
        self.notices = notices
        self.state = state
        writer = TunWriter(device)
        refusals = Refusals(writer)
        unsafe input = .allocate(byteCount: TunDevice.longestRead, alignment: 64)
        touched.reserveCapacity(64)
        abilities = currentAbilities
        state.publish(counters, abilities)
    }

    deinit { unsafe input.deallocate() }

    /// Watches the device and the sockets.
    func watch(in epoll: borrowing Epoll) throws(SystemError) {
        try epoll.add(device.descriptor.raw, for: .readable, token: Token.device)
        if let v4 { try epoll.add(v4.descriptor.raw, for: .readable, token: Token.v4) }
        if let v6 { try epoll.add(v6.descriptor.raw, for: .readable, token: Token.v6) }
    }

    /// Waits for something to do.
    ///
    /// - Returns: nil where there was nothing in that time.
    func wait(in epoll: borrowing Epoll, milliseconds: Int32) -> Ready? {
        // Fails only for arguments that are wrong (epoll_wait(2)).
        guard let count = try? epoll.wait(into: events, milliseconds: milliseconds), count > 0 else { return nil }
        now = .now()
        var ready = Ready()
        for index in 0..<count {
            let (token, events) = events[index]
            ready.formUnion(Ready(token: token, hasError: events.contains(.error)))
        }
        return ready
    }

    /// Serves what is ready, each direction up to its budget.
    func serve(_ ready: Ready, _ epoll: borrowing Epoll) {
        if ready.contains(.device), !deviceIsGone { serveDevice(epoll) }
        if ready.contains(.v4), let v4 { serve(v4, hasError: ready.contains(.v4Error)) }
        if ready.contains(.v6), let v6 { serve(v6, hasError: ready.contains(.v6Error)) }
        settle()
    }

    /// Stops reading from a device that will give nothing any more, and would be reported ready without end.
    func loseDevice(_ code: Int32, _ epoll: borrowing Epoll) {
        deviceIsGone = true
        try? epoll.remove(device.descriptor.raw)
        notices.add(.deviceFailed(code))
    }

    /// Remembers that a peer's sample is to be brought up to date.
    func touch(_ peer: LoopPeer) {
        guard !peer.isTouched else { return }
        peer.isTouched = true
        touched.append(peer)
    }

    /// Publishes what the round changed.
    func settle() {
        for peer in touched {
            let edges = peer.settle(now: now)
            if edges.timerWanted { notices.add(.timerWanted(peer.identifier)) }
            if edges.heard { notices.add(.heard(peer.identifier)) }
        }
        touched.removeAll(keepingCapacity: true)
        counters.device = writer.counters
        let abilities = currentAbilities
        state.publish(counters, abilities)
        if abilities != self.abilities {
            self.abilities = abilities
            notices.add(.abilitiesChanged(abilities))
        }
    }

    /// Does without these offloads, and with all others that there are.
    func disable(_ offloads: Set<Offload>) {
        guard offloads != disabledOffloads else { return }
        let changed = offloads.symmetricDifference(disabledOffloads)
        disabledOffloads = offloads
        if changed.contains(.tunSegmentation) {
            device.negotiate(offloads.contains(.tunSegmentation) ? [] : [.checksum, .tcp, .udp])
        }
        writer.mayMerge = !offloads.contains(.tunCoalescing)
        v4?.allow(allowedAbilities)
        v6?.allow(allowedAbilities)
        if changed.contains(.ipsecMB) {
            ciphers = LoopCiphers(
                allowing: offloads.contains(.ipsecMB) ? backEnds.subtracting([.ipsecMB]) : backEnds
            )
            for pair in sessions.values { pair.use(ciphers) }
        }
    }

    /// What a socket may do.
    var allowedAbilities: UDPSocket.Abilities {
        var allowed: UDPSocket.Abilities = .all
        if disabledOffloads.contains(.udpSegmentation) { allowed.remove(.groups) }
        if disabledOffloads.contains(.udpCoalescing) { allowed.remove(.trains) }
        if disabledOffloads.contains(.batches) { allowed.subtract([.sendBatches, .receiveBatches]) }
        return allowed
    }

    private var currentAbilities: LoopAbilities {
        LoopAbilities(
            device: device.offloads,
            merging: device.headerLength > 0 && !writer.gaveUpMerging && writer.mayMerge,
            v4: v4?.abilities,
            v6: v6?.abilities,
            cipher: ciphers.sealing.name,
            disabled: disabledOffloads
        )
    }

    /// Asks for a handshake, at most once a second for a peer.
    func wantHandshake(_ peer: LoopPeer) {
        if let asked = peer.handshakeAsked, now - asked < .seconds(1) { return }
        peer.handshakeAsked = now
        notices.add(.handshakeWanted(peer.identifier))
    }
}

/// What `Epoll` tells a descriptor by.
enum Token {
    static let mailbox: UInt64 = 0
    static let device: UInt64 = 1
    static let v4: UInt64 = 2
    static let v6: UInt64 = 3
}

/// What there is to do.
struct Ready: OptionSet {
    let rawValue: UInt8

    static let mailbox = Ready(rawValue: 1)
    static let device = Ready(rawValue: 2)
    static let v4 = Ready(rawValue: 4)
    static let v6 = Ready(rawValue: 8)
    static let v4Error = Ready(rawValue: 16)
    static let v6Error = Ready(rawValue: 32)
}

extension Ready {
    fileprivate init(token: UInt64, hasError: Bool) {
        switch token {
        case Token.mailbox: self = .mailbox
        case Token.device: self = .device
        case Token.v4: self = hasError ? [.v4, .v4Error] : .v4
        case Token.v6: self = hasError ? [.v6, .v6Error] : .v6
        default: self = []
        }
    }
}
