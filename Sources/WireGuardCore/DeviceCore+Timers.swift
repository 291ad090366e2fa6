import NetworkTypes

extension DeviceCore {
    /// It is `deadline`, or later.
    package mutating func expire(
        at moment: Moment,
        samples: (PeerIdentifier) -> TrafficSample,
        actions: inout [DeviceAction]
    ) {
        limiter.expire(now: moment.now)
        for identifier in peerIdentifiers {
            guard let peer = peers[identifier], let deadline = peer.deadline, deadline <= moment.now else { continue }
            review(peer, samples(identifier), at: moment, &actions)
        }
    }

    /// The loop has an edge to tell of: traffic that wants a timer, or a packet from a peer that was thought silent.
    package mutating func trafficChanged(
        _ identifier: PeerIdentifier,
        sample: TrafficSample,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard isStarted, let peer = peers[identifier] else { return }
        review(peer, sample, at: moment, &actions)
    }

    /// Looks at one peer with all that is known of it, does what is due, and works out when to look again.
    mutating func review(
        _ peer: PeerState<C>,
        _ sample: TrafficSample,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        let now = moment.now
        takeNote(of: sample, peer)
        var next: [Instant] = []
        // What is due because of traffic: only these look at the sample soon enough for the loop to keep quiet.
        var traffic: [Instant] = []
        // Wiping comes first: what is due afterwards must know that there is no session.
        if let wipeAt = peer.wipeAt {
            if now >= wipeAt { forgetSessions(of: peer, &actions) } else { next.append(wipeAt) }
        }
        let unanswered = sample.unansweredSince.flatMap { isAnswered(peer, after: $0) ? nil : $0 }
        if let since = unanswered, peer.pursuit == nil {
            let due = since + Timing.unanswered
            if now >= due {
                beginPursuit(of: peer, wantedSince: since, isForTraffic: true, at: moment)
            } else {
                traffic.append(due)
            }
        }
        if let due = keepaliveDue(peer, sample, at: moment, &actions) { traffic.append(due) }
        if let due = persistentKeepaliveDue(peer, sample, at: moment, &actions) { next.append(due) }
        if let pursuit = peer.pursuit, now >= pursuit.nextAttempt { attempt(peer, sample, at: moment, &actions) }
        if let pursuit = peer.pursuit {
            if unanswered == nil { next.append(pursuit.nextAttempt) } else { traffic.append(pursuit.nextAttempt) }
        }
        if let due = silenceDue(peer, unanswered, at: moment, &actions) { next.append(due) }
        // What we asked the loop to do, its sample doesn't show yet: look again, as long as it can do it.
        if traffic.isEmpty, sample.wantsTimer, peer.hasUsableSession(at: now) { traffic.append(now + Timing.keepalive) }
        peer.deadline = (next + traffic).min()
        let isWatched = !traffic.isEmpty
        if isWatched != peer.isWatched {
            peer.isWatched = isWatched
            actions.append(.watch(peer.identifier, isWatched))
        }
    }

    private func takeNote(of sample: TrafficSample, _ peer: PeerState<C>) {
        if sample.lastDataSent != nil { peer.wasSentData = true }
        guard let heard = sample.lastAnyReceived else { return }
        peer.lastHeard = max(heard, peer.lastHeard ?? .zero)
        guard heard > peer.lastAnswer ?? .zero else { return }
        peer.lastAnswer = heard
        peer.leftTrafficUnanswered = false
        // A failed renewal is no failure of the peer; that the pre-shared keys differ stays true.
        if peer.failure != .answeredNotAuthentic { peer.failure = nil }
    }

    private func isAnswered(_ peer: PeerState<C>, after instant: Instant) -> Bool {
        peer.lastAnswer.map { $0 > instant } ?? false
    }

    /// Asks for an empty packet where the peer's data has had no answer for 10 s.
    ///
    /// Source: WireGuard whitepaper, section 6.5.
    private func keepaliveDue(
        _ peer: PeerState<C>,
        _ sample: TrafficSample,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) -> Instant? {
        guard let since = sample.owedSince, since > peer.keepaliveAsked ?? .zero else { return nil }
        let due = since + Timing.keepalive
        guard moment.now >= due else { return due }
        askForKeepalive(peer, at: moment, &actions)
        return nil
    }

    /// Keeps a NAT open: an empty packet after each interval without any packet, through a new session if need be.
    private func persistentKeepaliveDue(
        _ peer: PeerState<C>,
        _ sample: TrafficSample,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) -> Instant? {
        guard peer.persistentKeepaliveSeconds > 0, peer.endpoint != nil, peer.pursuit == nil else { return nil }
        let interval = Interval.seconds(Int(peer.persistentKeepaliveSeconds))
        let last = [sample.lastAnySent, peer.lastHeard, peer.keepaliveAsked, peer.lastInitiationSent]
            .compactMap { $0 }.max()
        if let due = last.map({ $0 + interval }), moment.now < due { return due }
        guard peer.hasUsableSession(at: moment.now) else {
            beginPursuit(of: peer, wantedSince: moment.now, isForTraffic: peer.isConfirmed, at: moment)
            return nil
        }
        askForKeepalive(peer, at: moment, &actions)
        return moment.now + interval
    }

    private func askForKeepalive(_ peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
        peer.keepaliveAsked = moment.now
        actions.append(.keepalive(peer.identifier))
    }

    /// Finds a peer silent: traffic unanswered for 15 s, and the handshake that followed for 5 s.
    ///
    /// Traffic that waits for a session is given the same 20 s.
    private func silenceDue(
        _ peer: PeerState<C>,
        _ unanswered: Instant?,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) -> Instant? {
        guard !peer.leftTrafficUnanswered, let pursuit = peer.pursuit, let firstAttempt = pursuit.firstAttempt else {
            return nil
        }
        let waiting = pursuit.isForTraffic && !isAnswered(peer, after: pursuit.wantedSince) ? pursuit.wantedSince : nil
        guard let since = [unanswered, waiting].compactMap({ $0 }).min() else { return nil }
        let due = max(since + Timing.unanswered + Timing.rekeyTimeout, firstAttempt + Timing.rekeyTimeout)
        guard moment.now >= due else { return due }
        peer.leftTrafficUnanswered = true
        if peer.failure == nil { peer.failure = .silent }
        actions.append(.tellWhenHeard(peer.identifier, after: peer.lastAnswer ?? .zero))
        return nil
    }
}
