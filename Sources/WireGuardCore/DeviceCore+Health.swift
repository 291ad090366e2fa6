package import NetworkTypes

extension DeviceCore {
    /// What the peers together say of the tunnel.
    ///
    /// `connected` once a peer with a configured endpoint has confirmed a handshake, or at once where none has an endpoint;
    /// `reasserting` while every such peer that was sent data leaves it unanswered, or the path is lost, until one is heard
    /// over the path that came back. Silence without traffic is no failure. Source: tunneld's design, section 3.
    package func verdict(at now: Instant) -> DeviceVerdict {
        guard isStarted else { return .connecting }
        let called = peers.values.filter(\.hasConfiguredEndpoint)
        guard !called.isEmpty else { return .connected }
        guard wasConnected else { return .connecting }
        guard called.contains(where: \.isConfirmed) else { return .reasserting }
        switch path {
        case .usable: break
        case .lost: return .reasserting
        case .restored(let since):
            guard called.contains(where: { $0.lastHeard ?? .zero > since }) else { return .reasserting }
        }
        guard called.contains(where: \.leftTrafficUnanswered) else { return .connected }
        let isAnyAnswering = called.contains {
            $0.wasSentData && !$0.leftTrafficUnanswered && $0.hasLiveSession(at: now)
        }
        return isAnyAnswering ? .connected : .reasserting
    }

    /// What can be told of a peer now; nil for one that isn't there.
    package func report(
        of identifier: PeerIdentifier,
        sample: TrafficSample,
        at now: Instant
    ) -> PeerReport? {
        guard let peer = peers[identifier] else { return nil }
        let heard = [peer.lastHeard, sample.lastAnyReceived].compactMap { $0 }.max()
        let verification = verification(of: peer, heard: heard, sent: sample.lastDataSent, now: now)
        return PeerReport(
            publicKey: peer.publicKey,
            endpoint: peer.endpoint,
            hasConfiguredEndpoint: peer.hasConfiguredEndpoint,
            persistentKeepaliveSeconds: peer.persistentKeepaliveSeconds,
            state: state(of: peer, verification, now: now),
            verification: verification,
            lastHeard: heard,
            latestHandshake: peer.latestHandshake,
            attempts: peer.pursuit?.attempts ?? 0,
            failure: peer.failure,
            receivedBytes: sample.receivedBytes &+ peer.handshakeBytesReceived,
            sentBytes: sample.sentBytes &+ peer.handshakeBytesSent,
            sharedKeySuspected: peer.history.suspected(at: now)
        )
    }

    private func state(of peer: PeerState<C>, _ verification: PeerReport.Verification, now: Instant) -> PeerReport.State
    {
        if peer.leftTrafficUnanswered { return .silent }
        if let pursuit = peer.pursuit, !peer.hasUsableSession(at: now) {
            // A peer that never answered is silent as soon as its first call has gone unanswered.
            let firstEnded = pursuit.firstSent.map { now >= $0 + Timing.rekeyTimeout } ?? false
            let hasAnswered = peer.isConfirmed || peer.failure == .answeredNotAuthentic
            return firstEnded && !hasAnswered ? .silent : .handshaking
        }
        return verification == .live ? .alive : .idle
    }

    private func verification(
        of peer: PeerState<C>,
        heard: Instant?,
        sent: Instant?,
        now: Instant
    ) -> PeerReport.Verification {
        guard peer.hasLiveSession(at: now), let heard else { return .expired }
        let sent = sent ?? .zero
        let isRecent = now <= max(heard, sent) + Timing.live
        return isRecent && sent <= heard + Timing.live ? .live : .idle
    }
}
