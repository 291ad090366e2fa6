import NetworkTypes
import PacketIO
import WireGuardCore

/// The longest packets, padding included, that one is cut into.
struct Cut {
    let first: Int
    let rest: Int
    let headerLength: Int
}

/// Paths that swallow what is long, and say nothing.
extension PacketLoopEngine {
    /// Has the watch look at a long TCP packet, and cuts it where that is the way to find out.
    ///
    /// - Parameter work: what is left to do with the packet; changed where it is to be cut.
    /// - Returns: how long what it is cut into may be; nil where the packet stays as it is.
    func seekBlackHole(
        _ packet: UnsafeRawPointer,
        _ length: Int,
        _ header: IPHeader,
        _ work: inout VirtioHeader,
        _ peer: LoopPeer
    ) -> Cut? {
        guard let segment = unsafe TCPSegment(parsing: packet, length: length, header) else { return nil }
        let payload = work.kind == .none ? segment.payloadLength : min(segment.payloadLength, Int(work.segmentSize))
        // What is known not to pass whole says nothing more: its sender is told, or it goes in fragments.
        let passing = min(mtu, peer.longest)
        guard segment.headerLength + payload <= passing else { return nil }
        // As it goes out, padding included.
        let length = PacketPadding.paddedLength(of: segment.headerLength + payload, mtu: passing)
        let advice = peer.blackHole.sending(segment, length: length, now: now)
        tellFinding(of: peer)
        guard case .cut(let first, let rest) = advice, min(first, rest) > segment.headerLength else { return nil }
        work.kind = header.source.isIPv6 ? .tcp6 : .tcp4
        work.needsChecksum = true
        work.checksumStart = UInt16(truncatingIfNeeded: header.length)
        work.segmentSize = UInt16(truncatingIfNeeded: first - segment.headerLength)
        return Cut(first: first, rest: rest, headerLength: segment.headerLength)
    }

    /// Passes on what a packet from a peer acknowledges.
    func hearAcknowledgement(_ packet: UnsafeRawPointer, _ header: IPHeader, from peer: LoopPeer) {
        guard let segment = unsafe TCPSegment(parsing: packet, length: header.totalLength, header),
            let number = segment.acknowledgement
        else { return }
        peer.blackHole.acknowledged(segment.flow.reversed, upTo: number, now: now)
        tellFinding(of: peer)
    }

    private func tellFinding(of peer: LoopPeer) {
        guard let finding = peer.blackHole.takeFinding(), let endpoint = peer.address.endpoint else { return }
        let overhead = PathLimit.overhead(isIPv6: endpoint.address.isIPv6)
        notices.add(.blackHole(endpoint, passing: finding.passing + overhead, failing: finding.failing + overhead))
    }

    /// Has the paths to an address, or all, tried with long packets again.
    func forgetBlackHoles(at address: IPAddress?) {
        for peer in peers.values where address == nil || peer.address.endpoint?.address == address {
            peer.blackHole.raise()
        }
    }
}
