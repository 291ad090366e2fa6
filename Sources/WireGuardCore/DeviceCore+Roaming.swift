package import NetworkTypes

extension DeviceCore {
    /// An authentic packet came from another address than before.
    package mutating func roamed(
        _ identifier: PeerIdentifier,
        to endpoint: Endpoint,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard let peer = peers[identifier] else { return }
        setLearned(endpoint, of: peer, at: moment, &actions)
    }

    private func setLearned(
        _ endpoint: Endpoint,
        of peer: PeerState<C>,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        guard endpoint != peer.endpoint else { return }
        if peer.history.note(from: peer.endpoint, to: endpoint, now: moment.now) {
            actions.append(.warnSharedKey(peer.identifier, peer.endpoint ?? endpoint, endpoint))
        }
        peer.endpoint = endpoint
    }

    /// An authentic handshake message came in.
    func heard(
        _ peer: PeerState<C>,
        from source: Endpoint,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        peer.lastHeard = moment.now
        guard source != peer.endpoint else { return }
        setLearned(source, of: peer, at: moment, &actions)
        actions.append(.endpointChanged(peer.identifier, source))
    }
}
