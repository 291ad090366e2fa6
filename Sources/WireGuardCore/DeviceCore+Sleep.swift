import NetworkTypes

/// What a sleep of the machine does: its clock goes on, and nothing else of the device does.
extension DeviceCore {
    /// The machine is about to sleep.
    ///
    /// Whoever is being called then isn't given up for the time of the sleep, in which nobody could answer; told to the
    /// searches alone, so that it holds also where the wake is never told.
    package mutating func sleep() {
        for peer in peers.values { peer.pursuit?.isExcused = true }
    }

    /// The machine has woken up: where it is now, and whether the peers still have their sessions, nobody knows.
    ///
    /// Sessions past their limit are dropped at once. An empty packet under one that is left tells the peer our address, and
    /// an initiation asks it for an answer, for nothing else of the protocol does: it is repeated like any other until it has
    /// one. Peers that call us are left to do so.
    package mutating func wake(
        at moment: Moment,
        samples: (PeerIdentifier) -> TrafficSample,
        actions: inout [DeviceAction]
    ) {
        for identifier in peerIdentifiers {
            guard let peer = peers[identifier] else { continue }
            dropExpiredSessions(of: peer, now: moment.now, &actions)
            guard isStarted else { continue }
            if peer.endpoint != nil, peer.hasUsableSession(at: moment.now) { actions.append(.keepalive(identifier)) }
            if peer.hasConfiguredEndpoint {
                beginPursuit(of: peer, wantedSince: moment.now, isForTraffic: peer.isConfirmed, at: moment)
            }
            hurry(peer, at: moment)
            review(peer, samples(identifier), at: moment, &actions)
        }
    }

    /// Makes the search for an answer begin anew, with the next attempt at once.
    private func hurry(_ peer: PeerState<C>, at moment: Moment) {
        guard peer.pursuit != nil else { return }
        peer.pursuit?.excuse(at: moment.now)
        peer.pursuit?.hasten(at: moment.now)
    }

    private mutating func dropExpiredSessions(
        of peer: PeerState<C>,
        now: Instant,
        _ actions: inout [DeviceAction]
    ) {
        let expired = peer.sessions.remove { now >= $0.createdAt + Timing.rejectAfter }
        guard !expired.isEmpty else { return }
        for session in expired { indices[session.localIndex] = nil }
        actions.append(.discardExpired(peer.identifier))
    }
}
