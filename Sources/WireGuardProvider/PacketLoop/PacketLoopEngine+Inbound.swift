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
    /// It may change its session midway, and end in a handshake message.
    ///
    /// - Returns: its length.
    private func take(_ train: shim_udp_train) -> Int {
        guard unsafe !train.truncated, unsafe train.segment > 0, unsafe train.length > 0 else {
            counters.malformed &+= 1
            return 0
        }
        let length = unsafe Int(train.length)
        var offset = 0
        while offset < length {
            let datagram = unsafe train.datagram(at: offset)
            switch DatagramKind(of: datagram) {
            case .transport:
                if let header = try? TransportHeader(parsing: datagram), let pair = sessions[header.receiver] {
                    // At least this one datagram.
                    offset = unsafe open(train, from: offset, pair, pair.peer, pair.opener)
                    continue
                }
                counters.unknownSession &+= 1
            case .initiation, .response, .cookieReply:
                unsafe passOn(train, at: offset, datagram.byteCount)
            case .malformed:
                counters.malformed &+= 1
            }
            offset &+= datagram.byteCount
        }
        return length
    }

    private func passOn(_ train: shim_udp_train, at offset: Int, _ size: Int) {
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: train.buffer + offset, count: size))
        guard let endpoint = unsafe train.source.endpoint, notices.add(.handshake(bytes, from: endpoint)) else {
            return counters.handshakesDropped &+= 1
        }
    }

    /// Opens the datagrams of one session that follow each other.
    ///
    /// The session's parts come as arguments, so that nothing is retained per packet.
    ///
    /// - Returns: where the first datagram stands that isn't one of them; at least one later than `start`.
    private func open(
        _ train: shim_udp_train,
        from start: Int,
        _ pair: LoopKeyPair,
        _ peer: LoopPeer,
        _ opener: TransportCipher
    ) -> Int {
        let index = pair.keys.localIndex
        let length = unsafe Int(train.length)
        let isExpired = pair.isExpired(now: now)
        var isProven = false
        var allowedSource: IPAddress?
        var offset = start
        while offset < length {
            let datagram = unsafe train.datagram(at: offset)
            guard DatagramKind(of: datagram) == .transport, let header = try? TransportHeader(parsing: datagram),
                header.receiver == index
            else { break }
            let content = unsafe train.buffer + offset + TransportHeader.byteCount
            offset &+= datagram.byteCount
            guard !isExpired else {
                counters.unknownSession &+= 1
                continue
            }
            guard !pair.window.isOutOfReach(header.counter) else {
                counters.replayed &+= 1
                continue
            }
            let sealedLength = datagram.byteCount &- TransportHeader.byteCount
            guard unsafe opener.open(inPlace: content, ciphertextLength: sealedLength, counter: header.counter) else {
                counters.unauthentic &+= 1
                continue
            }
            // After authentication, or a forged counter would shut out those that follow.
            guard pair.window.accept(header.counter) else {
                counters.replayed &+= 1
                continue
            }
            if !isProven {
                isProven = true
                unsafe prove(pair, peer, train.source)
            }
            peer.receivedBytes &+= datagram.byteCount
            guard header.plaintextLength > 0 else { continue }
            peer.receivedData = true
            unsafe deliver(content, header.plaintextLength, train.ecn, from: peer, &allowedSource)
        }
        return offset
    }

    /// What the first authentic packet of a session in a train brings with it: its address is judged once.
    private func prove(_ pair: LoopKeyPair, _ peer: LoopPeer, _ source: SocketAddress) {
        touch(peer)
        if !peer.address.equals(source) {
            peer.move(to: source)
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
    ///
    /// - Parameter allowedSource: a source address that has been found to be the peer's.
    private func deliver(
        _ packet: UnsafeMutableRawPointer,
        _ length: Int,
        _ outerMark: UInt8,
        from peer: LoopPeer,
        _ allowedSource: inout IPAddress?
    ) {
        guard let header = unsafe IPHeader(parsing: RawSpan(_unsafeStart: packet, byteCount: length)) else {
            return counters.malformed &+= 1
        }
        if allowedSource != header.source {
            guard allowedIPs.owner(of: header.source) == peer.identifier else { return counters.wrongSource &+= 1 }
            allowedSource = header.source
        }
        if peer.blackHole.listens, header.transport == 6 { unsafe hearAcknowledgement(packet, header, from: peer) }
        if outerMark != CongestionMark.notCapable {
            guard let mark = CongestionMark.decapsulate(inner: header.ecn, outer: outerMark) else {
                return counters.congested &+= 1
            }
            if mark != header.ecn { unsafe CongestionMark.set(mark, on: packet) }
        }
        // Without the padding behind it.
        unsafe writer.deliver(packet, length: header.totalLength)
    }
}

extension shim_udp_train {
    /// The datagram that begins at an offset below `length`; it is valid until the next reception.
    @_lifetime(immortal)
    fileprivate func datagram(at offset: Int) -> MutableRawSpan {
        let size = unsafe min(Int(segment), Int(length) &- offset)
        return unsafe _overrideLifetime(
            MutableRawSpan(_unsafeStart: buffer + offset, byteCount: size),
            copying: ()
        )
    }
}
