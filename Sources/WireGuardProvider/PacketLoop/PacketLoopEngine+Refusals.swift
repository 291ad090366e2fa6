import NetworkTypes
import PacketIO
import WireGuardCore

/// Packets that can't be delivered, or not whole.
extension PacketLoopEngine {
    /// Tells the sender of a packet that there is no way to its destination.
    func refuse(_ packet: UnsafeMutableRawPointer, _ length: Int, _ header: IPHeader, _ work: VirtioHeader) {
        unsafe refusals.refuse(
            packet,
            header,
            .unreachable,
            now: now,
            Segmenter.cutting(packet, length: length, header: work)
        )
    }

    /// Decides on a packet longer than what passes whole to a peer.
    ///
    /// Where it may not be fragmented, its sender is told what would pass (RFC 1191; RFC 8201). All others, and those whose
    /// sender may not be told, go on as ever: their datagram is fragmented outside, where that is allowed.
    ///
    /// - Returns: false where its sender was told, and it is to be dropped.
    func mayGoOn(
        _ packet: UnsafeMutableRawPointer,
        _ header: IPHeader,
        _ segments: Segmenter,
        for peer: LoopPeer
    ) -> Bool {
        peer.path.expire(now: now)
        let passing = peer.path.told(mtu: min(mtu, peer.blackHole.limit), isIPv6: header.source.isIPv6)
        guard segments.nextLength > passing, unsafe ICMPError.isAllowed(about: packet, header),
            unsafe !ICMPError.mayBeFragmented(packet)
        else { return true }
        unsafe refusals.refuse(packet, header, .tooBig(mtu: passing), now: now, segments)
        return false
    }

    /// Passes on what was said about datagrams sent earlier, and heeds how long they may be.
    func reportErrors(_ socket: UDPSocket?) {
        for error in socket?.takeErrors() ?? [] {
            notices.add(.pathError(error.destination, code: error.code))
            guard let mtu = error.mtu, let destination = error.destination else { continue }
            for peer in peers.values where peer.address.isSameHost(as: destination) {
                peer.path.narrow(toMTU: mtu, isIPv6: destination.address.isIPv6, now: now)
            }
        }
    }

    func forgetPaths() {
        for peer in peers.values { peer.path = PathLimit() }
        v4?.forgetPaths()
        v6?.forgetPaths()
    }
}

extension SocketAddress {
    /// Whether the address is this one's; port and zone are left out of account.
    fileprivate func isSameHost(as endpoint: Endpoint) -> Bool { self.endpoint?.address == endpoint.address }
}
