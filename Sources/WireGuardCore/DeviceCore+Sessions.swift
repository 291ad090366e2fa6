import NetworkTypes

/// Sessions, from their installation to their use.
extension DeviceCore {
    /// The peer has used the session that we answered it with: both ends have the keys.
    package mutating func confirmed(
        _ identifier: PeerIdentifier,
        localIndex: UInt32,
        sample: TrafficSample,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard let peer = peers[identifier] else { return }
        // A notice that crossed a newer session, or the end of all, is about one that we count as gone.
        if case .session(identifier)? = indices[localIndex] {
            if peer.sessions.next?.localIndex == localIndex, let dropped = peer.sessions.promote() {
                indices[dropped.localIndex] = nil
            }
            confirm(peer, at: moment, &actions)
        } else {
            peer.noteStray(localIndex)
        }
        review(peer, sample, at: moment, &actions)
    }

    mutating func install(
        _ keys: SessionKeys,
        for peer: PeerState<C>,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        let session = SessionReference(localIndex: keys.localIndex, createdAt: keys.createdAt)
        for dropped in peer.sessions.install(session, isInitiator: keys.isInitiator) {
            indices[dropped.localIndex] = nil
        }
        peer.wipeAt = moment.now + Timing.wipeAfter
        peer.deadline = min(peer.deadline ?? .distantFuture, moment.now + Timing.wipeAfter)
        // The loop's sample begins anew, so who watches is settled anew.
        peer.isWatched = nil
        actions.append(.install(peer.identifier, keys))
    }

    /// A handshake with the peer is proven by both ends.
    mutating func confirm(_ peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
        // The response's index now stands for the session, so it is not released with the half-open handshake.
        if let index = peer.pursuit?.handshake?.localIndex, case .handshake? = indices[index] { indices[index] = nil }
        peer.pursuit = nil
        peer.latestHandshake = moment.now
        peer.isConfirmed = true
        peer.leftTrafficUnanswered = false
        peer.failure = nil
        if peer.hasConfiguredEndpoint { wasConnected = true }
        review(peer, TrafficSample(), at: moment, &actions)
    }

    /// Signs a message and has it sent to the peer.
    func send(_ message: [UInt8], to peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
        guard let endpoint = peer.endpoint else { return }
        let datagram = peer.signer.sign(message, now: moment.now)
        peer.handshakeBytesSent += UInt64(datagram.count)
        actions.append(.send(datagram, to: endpoint, peer: peer.identifier))
    }
}
