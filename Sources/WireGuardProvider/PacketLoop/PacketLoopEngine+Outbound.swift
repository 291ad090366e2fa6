import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import TunnelCrypto
import WireGuardCore

extension PacketLoopEngine {
    /// Packets and bytes read in one turn.
    private static let packetBudget = 64
    private static let byteBudget = 256 * 1024

    /// Reads packets from the TUN device, up to the budget, and sends them.
    func serveDevice(_ epoll: borrowing Epoll) {
        var bytes = 0
        var packets = 0
        while packets < PacketLoopEngine.packetBudget, bytes < PacketLoopEngine.byteBudget {
            let outcome = unsafe device.read(into: input)
            guard case .moved(let length) = outcome else {
                switch outcome {
                case .deleted: loseDevice(EBADFD, epoll)
                case .failed(let code): loseDevice(code, epoll)
                case .moved, .empty, .down: break
                }
                break
            }
            packets += 1
            bytes += length
            if let base = unsafe input.baseAddress { unsafe route(base, length: length) }
        }
        sendBatch()
    }

    /// Finds the peer for a packet, with its virtio-net header where the device has them, and sends or keeps it.
    func route(_ given: UnsafeMutableRawPointer, length: Int) {
        let headerLength = device.headerLength
        let packet = unsafe given + headerLength
        let packetLength = length - headerLength
        guard packetLength > 0,
            let header = unsafe IPHeader(parsing: RawSpan(_unsafeStart: packet, byteCount: packetLength))
        else {
            counters.malformed &+= 1
            return
        }
        var work = headerLength > 0 ? unsafe VirtioHeader(reading: given) : VirtioHeader()
        guard let owner = allowedIPs.owner(of: header.destination), let peer = peers[owner] else {
            counters.noPeer &+= 1
            unsafe refuse(packet, packetLength, header, work)
            return
        }
        if header.transport == UInt8(IPPROTO_UDP), unsafe isOurOwn(packet, packetLength, header) {
            counters.looped &+= 1
            return
        }
        guard !peer.address.isNone else {
            counters.noEndpoint &+= 1
            unsafe refuse(packet, packetLength, header, work)
            return
        }
        guard let pair = peer.slots.current, !pair.isRejected(now: now) else {
            unsafe stage(UnsafeRawBufferPointer(start: given, count: length), for: peer)
            return
        }
        var cut: Cut?
        if header.transport == UInt8(IPPROTO_TCP), peer.blackHole.watches(packetLength) {
            cut = unsafe seekBlackHole(packet, packetLength, header, &work, peer)
        }
        guard let segmenter = unsafe Segmenter.cutting(packet, length: packetLength, header: work) else {
            counters.malformed &+= 1
            return
        }
        if segmenter.nextLength > min(mtu, peer.longest),
            unsafe !mayGoOn(packet, header, segmenter, for: peer)
        {
            counters.tooBig &+= 1
            return
        }
        seal(segmenter, cut, with: pair, for: peer, ecn: CongestionMark.encapsulate(header.ecn))
        if pair.isRekeyDueOnSend(now: now) { wantHandshake(peer) }
    }

    /// Whether a packet is one of our own datagrams, which the machine's routing sent into the tunnel (C040).
    ///
    /// Sent on, it would come back, and grow each time.
    private func isOurOwn(_ packet: UnsafeMutableRawPointer, _ length: Int, _ header: IPHeader) -> Bool {
        guard length >= header.length + 4 else { return false }
        let ports = unsafe packet + header.length
        let from = UInt16(bigEndian: unsafe ports.loadUnaligned(as: UInt16.self))
        guard from == (header.source.isIPv6 ? v6?.port : v4?.port) else { return false }
        let port = UInt16(bigEndian: unsafe ports.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        return peers.values.contains { $0.address.isSame(as: header.destination, port: port) }
    }

    private func stage(_ packet: UnsafeRawBufferPointer, for peer: LoopPeer) {
        counters.stagedDropped &+= UInt64(peer.staged.append(unsafe Array(packet)))
        touch(peer)
        wantHandshake(peer)
    }

    /// Sends the packets that wait for a session.
    func sendStaged(_ peer: LoopPeer) {
        for var packet in peer.staged.takeAll() {
            unsafe packet.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { unsafe route(base, length: bytes.count) }
            }
        }
        touch(peer)
    }

    /// Encrypts the packets that a segmenter gives, each in its place in the batch.
    ///
    /// - Parameter cut: what they may be no longer than, where that is less than what passes.
    private func seal(_ segments: Segmenter, _ cut: Cut?, with pair: LoopKeyPair, for peer: LoopPeer, ecn: UInt8) {
        var segments = segments
        let sealer = pair.sealer
        let remoteIndex = pair.keys.remoteIndex
        let address = peer.address
        var mtu = cut?.first ?? min(mtu, peer.longest)
        touch(peer)
        while segments.nextLength > 0 {
            let length = segments.nextLength
            let padded = PacketPadding.paddedLength(of: length, mtu: mtu)
            let size = TransportHeader.byteCount + padded + TransportHeader.tagSize
            if batch.wantsSending || batch.room < size { sendBatch() }
            let message = unsafe batch.next
            let content = unsafe message + TransportHeader.byteCount
            unsafe segments.next(into: content)
            if let cut {
                mtu = cut.rest
                segments.resize(to: cut.rest - cut.headerLength)
            }
            unsafe (content + length).initializeMemory(as: UInt8.self, repeating: 0, count: padded - length)
            guard let counter = pair.counter.take() else {
                // REJECT_AFTER_MESSAGES: the rest of the packets goes the way of all that TCP loses.
                wantHandshake(peer)
                return
            }
            var header = unsafe MutableRawSpan(_unsafeStart: message, byteCount: TransportHeader.byteCount)
            TransportHeader.write(receiver: remoteIndex, counter: counter, into: &header)
            guard unsafe sealer.seal(inPlace: content, plaintextLength: padded, counter: counter) else {
                counters.unsent &+= 1
                continue
            }
            batch.append(size, to: address, ecn: ecn)
            peer.sentBytes &+= size
        }
        peer.sentData = true
    }

    /// Sends an empty packet, if there is a session.
    func sendKeepalive(_ peer: LoopPeer) {
        guard !peer.address.isNone, let pair = peer.slots.current, !pair.isRejected(now: now),
            let counter = pair.counter.take()
        else { return }
        let size = TransportHeader.byteCount + TransportHeader.tagSize
        if batch.wantsSending || batch.room < size { sendBatch() }
        let message = unsafe batch.next
        var header = unsafe MutableRawSpan(_unsafeStart: message, byteCount: TransportHeader.byteCount)
        TransportHeader.write(receiver: pair.keys.remoteIndex, counter: counter, into: &header)
        let content = unsafe message + TransportHeader.byteCount
        guard unsafe pair.sealer.seal(inPlace: content, plaintextLength: 0, counter: counter) else { return }
        batch.append(size, to: peer.address, ecn: 0)
        peer.sentBytes &+= size
        touch(peer)
    }

    /// Sends what is collected, and passes on what the machine said of it.
    func sendBatch() {
        guard !batch.isEmpty else { return }
        let before = unsent
        counters.unsent &+= UInt64(batch.send(over: v4, v6))
        counters.unsent &+= unsent &- before
        reportErrors(v4)
        reportErrors(v6)
    }

    private var unsent: UInt64 { (v4?.counters.unsent ?? 0) &+ (v6?.counters.unsent ?? 0) }
}
