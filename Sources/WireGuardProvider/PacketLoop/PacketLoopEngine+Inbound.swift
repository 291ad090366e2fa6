import CShims
import NetworkTypes
import PacketIO
import TunnelCrypto
import WireGuardCore

extension PacketLoopEngine {
    /// Receptions and bytes in one turn.
    private static let receptionBudget = 4
    private static let byteBudget = 256 * 1024

    /// Receives datagrams, up to the budget, and delivers what they carry.
    func serve(_ socket: UDPSocket, hasError: Bool) {
        if hasError {
            socket.collectErrors()
            reportErrors(socket)
        }
        var bytes = 0
        for _ in 0..<PacketLoopEngine.receptionBudget where bytes < PacketLoopEngine.byteBudget {
            let wanted = trainsWanted
            let count = socket.receive(into: ring, limit: wanted)
            var received = 0
            for index in 0..<count { received &+= unsafe take(ring[index]) }
            writer.flush()
            guard count > 0 else { break }
            bytes &+= received
            // Single datagrams come 64 at a time, long trains just a few.
            trainsWanted = min(max(PacketLoopEngine.byteBudget / max(received / count, 1), 4), ReceiveRing.count)
            guard count == wanted else { break }
        }
        // Packets that waited for a session that has proven itself now.
        sendBatch()
    }

    /// Takes a train apart.
    ///
    /// - Returns: its length.
    private func take(_ train: shim_udp_train) -> Int {
        guard unsafe !train.truncated, unsafe train.segment > 0, unsafe train.length > 0 else {
            counters.malformed &+= 1
            return 0
        }
        let length = unsafe Int(train.length)
        let segment = unsafe Int(train.segment)
        var reader = unsafe TrainReader(source: train.source, ecn: train.ecn)
        var offset = 0
        while offset < length {
            let size = min(segment, length &- offset)
            unsafe take(train.buffer + offset, size, &reader)
            offset &+= size
        }
        return length
    }

    private func take(_ message: UnsafeMutableRawPointer, _ size: Int, _ reader: inout TrainReader) {
        let datagram = unsafe MutableRawSpan(_unsafeStart: message, byteCount: size)
        switch DatagramKind(of: datagram) {
        case .transport:
            guard let header = try? TransportHeader(parsing: datagram) else { return counters.malformed &+= 1 }
            unsafe open(message, size, header, &reader)
        case .initiation, .response, .cookieReply:
            unsafe passOn(UnsafeRawBufferPointer(start: message, count: size), from: reader.source)
        case .malformed:
            counters.malformed &+= 1
        }
    }

    private func passOn(_ message: UnsafeRawBufferPointer, from source: SocketAddress) {
        guard let endpoint = source.endpoint, notices.add(.handshake(unsafe Array(message), from: endpoint)) else {
            return counters.handshakesDropped &+= 1
        }
    }

    private func open(
        _ message: UnsafeMutableRawPointer,
        _ size: Int,
        _ header: TransportHeader,
        _ reader: inout TrainReader
    ) {
        if reader.index != header.receiver || reader.pair == nil {
            reader.begin(header.receiver, sessions[header.receiver])
        }
        guard let pair = reader.pair else { return counters.unknownSession &+= 1 }
        guard !pair.window.isOutOfReach(header.counter) else { return counters.replayed &+= 1 }
        if !reader.isProven, pair.isExpired(now: now) { return counters.unknownSession &+= 1 }
        let content = unsafe message + TransportHeader.byteCount
        guard
            unsafe pair.opener.open(
                inPlace: content,
                ciphertextLength: size &- TransportHeader.byteCount,
                counter: header.counter
            )
        else { return counters.unauthentic &+= 1 }
        // After authentication, or a forged counter would shut out those that follow.
        guard pair.window.accept(header.counter) else { return counters.replayed &+= 1 }
        let peer = unsafe pair.peer
        if !reader.isProven {
            reader.isProven = true
            prove(pair, peer, reader.source)
        }
        peer.receivedBytes &+= size
        guard header.plaintextLength > 0 else { return }
        peer.receivedData = true
        unsafe deliver(content, header.plaintextLength, from: peer, &reader)
    }

    /// What the first authentic packet of a session in a train brings with it.
    private func prove(_ pair: LoopKeyPair, _ peer: LoopPeer, _ source: SocketAddress) {
        touch(peer)
        if !peer.address.equals(source) {
            peer.address = source
            if let endpoint = source.endpoint { notices.add(.roamed(peer.identifier, endpoint)) }
        }
        if peer.slots.next === pair {
            if let dropped = peer.slots.promote() { sessions[dropped.keys.localIndex] = nil }
            peer.handshakeAsked = nil
            notices.add(.confirmed(peer.identifier, localIndex: pair.keys.localIndex))
            sendStaged(peer)
        }
        if pair.isRekeyDueOnReceive(now: now) { wantHandshake(peer) }
    }

    /// Hands an opened packet to the TUN device, if it may come from this peer.
    private func deliver(
        _ packet: UnsafeMutableRawPointer,
        _ length: Int,
        from peer: LoopPeer,
        _ reader: inout TrainReader
    ) {
        guard let header = unsafe IPHeader(parsing: RawSpan(_unsafeStart: packet, byteCount: length)) else {
            return counters.malformed &+= 1
        }
        if reader.allowedSource != header.source {
            guard allowedIPs.owner(of: header.source) == peer.identifier else { return counters.wrongSource &+= 1 }
            reader.allowedSource = header.source
        }
        if reader.ecn != CongestionMark.notCapable {
            guard let mark = CongestionMark.decapsulate(inner: header.ecn, outer: reader.ecn) else {
                return counters.congested &+= 1
            }
            if mark != header.ecn { unsafe CongestionMark.set(mark, on: packet) }
        }
        // Without the padding behind it.
        unsafe writer.deliver(packet, length: header.totalLength)
    }
}

/// What is known of the train under way: its session is looked up, and its address judged, once.
///
/// A train may change its session midway, and end in a handshake message.
private struct TrainReader {
    let source: SocketAddress
    let ecn: UInt8
    private(set) var index: UInt32 = 0
    private(set) var pair: LoopKeyPair?
    /// A packet under this session has opened.
    var isProven = false
    /// A source address that has been found to belong to the session's peer.
    var allowedSource: IPAddress?

    init(source: SocketAddress, ecn: UInt8) {
        self.source = source
        self.ecn = ecn
    }

    mutating func begin(_ index: UInt32, _ pair: LoopKeyPair?) {
        self.index = index
        self.pair = pair
        isProven = false
        allowedSource = nil
    }
}
