package import NetworkTypes

extension DeviceCore {
    /// The device is ready: from now on peers are called and answered.
    package mutating func start(at moment: Moment, actions: inout [DeviceAction]) {
        isStarted = true
        for identifier in peerIdentifiers {
            guard let peer = peers[identifier] else { continue }
            callAtOnce(peer, at: moment, &actions)
        }
    }

    /// Adds a peer, and calls it where it has an endpoint and the device is started.
    package mutating func addPeer(
        _ settings: PeerSettings,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) throws(PeerError) -> PeerIdentifier {
        guard settings.publicKey != identity.publicKey else { throw .ownPublicKey }
        guard identifiers[settings.publicKey] == nil else { throw .duplicatePeer }
        guard let shared = C.sharedSecret(identity.privateKey, settings.publicKey.bytes) else { throw .weakPublicKey }
        let peer = PeerState<C>(nextIdentifier(), settings, staticShared: shared)
        peers[peer.identifier] = peer
        identifiers[peer.publicKey] = peer.identifier
        if isStarted { callAtOnce(peer, at: moment, &actions) }
        return peer.identifier
    }

    /// Forgets a peer; the driver takes it out of the packet loop itself.
    package mutating func removePeer(_ identifier: PeerIdentifier) {
        guard let peer = peers.removeValue(forKey: identifier) else { return }
        identifiers[peer.publicKey] = nil
        releaseIndices(of: peer)
    }

    /// Gives the device another key: every session ends, and the peers with an endpoint are called anew.
    ///
    /// - Throws: `ownPublicKey` where a peer has the new key's public key; nothing is changed then.
    package mutating func setPrivateKey(
        _ key: SecretKey,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) throws(PeerError) {
        guard let identity = DeviceIdentity<C>(privateKey: key), identifiers[identity.publicKey] == nil else {
            throw .ownPublicKey
        }
        self.identity = identity
        checker = MessageChecker(own: identity.publicKey)
        for identifier in peerIdentifiers {
            // A peer's key that is of small order with one key is so with all: those were refused when they were added.
            guard let peer = peers[identifier], let shared = C.sharedSecret(key, peer.publicKey.bytes) else { continue }
            peer.staticShared = shared
            // Labels are compared per key pair, and this is a new pair.
            peer.greatestLabel = nil
            peer.isConfirmed = false
            forgetSessions(of: peer, &actions)
            end(&peer.pursuit)
            if isStarted { callAtOnce(peer, at: moment, &actions) }
        }
    }

    /// Gives a peer another pre-shared key; it counts from the next handshake on.
    package mutating func setPresharedKey(_ key: SecretKey, of identifier: PeerIdentifier, at moment: Moment) {
        guard let peer = peers[identifier] else { return }
        peer.presharedKey = key
        hasten(peer, at: moment)
    }

    /// The endpoint of a peer by configuration or by resolving its name.
    ///
    /// - Parameters:
    ///   - isConfigured: whether the configuration names one, resolved or not.
    ///   - isNews: false where it is only the next of several to be tried: then the next attempt doesn't come sooner.
    package mutating func setEndpoint(
        _ endpoint: Endpoint?,
        isConfigured: Bool,
        isNews: Bool = true,
        of identifier: PeerIdentifier,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard let peer = peers[identifier] else { return }
        let isNew = endpoint != peer.endpoint
        peer.hasConfiguredEndpoint = isConfigured
        guard isNew, let endpoint else { return }
        peer.endpoint = endpoint
        actions.append(.endpointChanged(identifier, endpoint))
        if peer.failure == .name { peer.failure = nil }
        if peer.pursuit != nil {
            if isNews { hasten(peer, after: Self.newsGap, at: moment) }
        } else if isStarted, !peer.hasLiveSession(at: moment.now) {
            callAtOnce(peer, at: moment, &actions)
        }
    }

    /// The seconds between packets that keep a NAT open; 0 for none.
    package mutating func setPersistentKeepalive(
        _ seconds: UInt16,
        of identifier: PeerIdentifier,
        sample: TrafficSample,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard let peer = peers[identifier] else { return }
        peer.persistentKeepaliveSeconds = seconds
        guard isStarted else { return }
        review(peer, sample, at: moment, &actions)
    }

    /// The network changed.
    ///
    /// Whoever is being called is called again at once. Over a way that may be another one every peer is probed: it learns
    /// our new address from an empty packet, and whether it can be heard shows the answer to a handshake.
    package mutating func networkChanged(
        _ change: PathChange,
        at moment: Moment,
        samples: (PeerIdentifier) -> TrafficSample,
        actions: inout [DeviceAction]
    ) {
        guard change != .lost else { return path = .lost }
        let isBack = path == .lost
        if isBack { path = .restored(moment.now) }
        guard isStarted else { return }
        let mustProbe = isBack || change == .moved
        for identifier in peerIdentifiers {
            guard let peer = peers[identifier] else { continue }
            if mustProbe {
                probe(peer, at: moment, &actions)
                peer.pursuit?.hasten(at: moment.now)
            } else if peer.pursuit != nil {
                peer.pursuit?.nextAttempt = moment.now
                peer.pursuit?.gap = Timing.rekeyTimeout
            }
            review(peer, samples(identifier), at: moment, &actions)
        }
    }

    private func probe(_ peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
        if peer.endpoint != nil, peer.hasUsableSession(at: moment.now) { actions.append(.keepalive(peer.identifier)) }
        guard peer.hasConfiguredEndpoint else { return }
        beginPursuit(of: peer, wantedSince: moment.now, isForTraffic: false, at: moment)
        if case .restored(let since) = path { actions.append(.tellWhenHeard(peer.identifier, after: since)) }
    }

    /// An address that hasn't been called yet needn't wait for the limit on calls to the one before.
    private static var newsGap: Interval { .seconds(1) }

    private mutating func callAtOnce(_ peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
        guard peer.endpoint != nil || peer.hasConfiguredEndpoint else { return }
        beginPursuit(of: peer, wantedSince: moment.now, isForTraffic: false, at: moment)
        review(peer, TrafficSample(), at: moment, &actions)
    }

    /// Makes the next attempt come as early as the protocol lets it: something was mended.
    ///
    /// - Parameter gap: since the last attempt, which may have gone elsewhere.
    private func hasten(_ peer: PeerState<C>, after gap: Interval = Timing.rekeyTimeout, at moment: Moment) {
        guard peer.pursuit != nil else { return }
        peer.pursuit?.nextAttempt = max(moment.now, peer.lastInitiationSent.map { $0 + gap } ?? moment.now)
        peer.pursuit?.gap = Timing.rekeyTimeout
        peer.deadline = [peer.deadline, peer.pursuit?.nextAttempt].compactMap { $0 }.min()
    }

    func earliestAttempt(for peer: PeerState<C>, now: Instant) -> Instant {
        max(now, peer.lastInitiationSent.map { $0 + Timing.rekeyTimeout } ?? now)
    }

    /// Has the loop wipe every session of a peer, and forgets their indices.
    mutating func forgetSessions(of peer: PeerState<C>, _ actions: inout [DeviceAction]) {
        peer.wipeAt = nil
        for localIndex in peer.sessions.all.map(\.localIndex) + peer.strays {
            indices[localIndex] = nil
            actions.append(.discard(peer.identifier, localIndex: localIndex))
        }
        peer.sessions.removeAll()
        peer.forgetStrays()
    }

    /// Ends the search for an answer; the half-open handshake is wiped.
    mutating func end(_ pursuit: inout Pursuit<C>?) {
        if let index = pursuit?.handshake?.localIndex { indices[index] = nil }
        pursuit = nil
    }

    private mutating func releaseIndices(of peer: PeerState<C>) {
        end(&peer.pursuit)
        for session in peer.sessions.all { indices[session.localIndex] = nil }
    }
}
