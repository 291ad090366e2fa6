import NetworkTypes

extension DeviceCore {
    /// The packet loop wants a session: packets wait, or the one in use is to be renewed.
    ///
    /// The loop calls at the first packet that waits, and for a renewal at most once in 5 s.
    package mutating func handshakeWanted(
        _ identifier: PeerIdentifier,
        sample: TrafficSample,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard isStarted, let peer = peers[identifier] else { return }
        guard peer.endpoint != nil || peer.hasConfiguredEndpoint else {
            // Nobody knows where it is until it calls.
            actions.append(.dropStaged(identifier))
            return
        }
        if let pursuit = peer.pursuit {
            if !pursuit.isForTraffic || isAnswered(peer, since: pursuit.wantedSince) {
                peer.pursuit?.wantedSince = moment.now
            }
            peer.pursuit?.isForTraffic = true
            if pursuit.seriesStart == nil {
                peer.pursuit?.seriesStart = moment.now
                // A running series keeps its times, and with them the chance in them.
                let earliest = earliestAttempt(for: peer, now: moment.now)
                let start = earliest > moment.now ? earliest + jitter() : earliest
                peer.pursuit?.nextAttempt = min(pursuit.nextAttempt, start)
            }
        } else {
            beginPursuit(of: peer, wantedSince: moment.now, isForTraffic: true, at: moment)
            peer.pursuit?.seriesStart = moment.now
        }
        review(peer, sample, at: moment, &actions)
    }

    /// The network said something about what was sent to a peer, or its name didn't resolve.
    package mutating func report(_ failure: PeerFailure, about identifier: PeerIdentifier) {
        guard let peer = peers[identifier], peer.pursuit != nil else { return }
        peer.pursuit?.reported = failure
        // A hint from the network doesn't outweigh an answer from the peer itself.
        if peer.failure != .answeredNotAuthentic { peer.failure = failure }
    }

    func beginPursuit(
        of peer: PeerState<C>,
        wantedSince: Instant,
        isForTraffic: Bool,
        at moment: Moment
    ) {
        guard peer.pursuit == nil else { return }
        peer.pursuit = Pursuit(
            wantedSince: wantedSince,
            isForTraffic: isForTraffic,
            startedAt: moment.now,
            firstAttempt: earliestAttempt(for: peer, now: moment.now)
        )
    }

    /// Makes the attempt that is due, or ends the search.
    mutating func attempt(
        _ peer: PeerState<C>,
        _ sample: TrafficSample,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        guard var pursuit = peer.pursuit else { return }
        if pursuit.attempts > 0 { peer.failure = outcome(of: pursuit, failure: peer.failure) }
        if pursuit.isExcused, moment.now >= (pursuit.seriesStart ?? pursuit.startedAt) + Timing.rekeyAttempt {
            pursuit.excuse(at: moment.now)
        }
        let packetsWait = sample.isWaiting || hasSentData(sample, since: peer.lastInitiationSent)
        if let start = pursuit.seriesStart, moment.now >= start + Timing.rekeyAttempt {
            pursuit.seriesStart = nil
            actions.append(.dropStaged(peer.identifier))
        } else if packetsWait, pursuit.seriesStart == nil {
            pursuit.seriesStart = moment.now
        }
        // Only a configured endpoint is called for ever; one that was learned is given up with the series.
        if !peer.hasConfiguredEndpoint, pursuit.seriesStart == nil,
            moment.now >= pursuit.startedAt + Timing.rekeyAttempt
        {
            end(&peer.pursuit)
            return
        }
        if let index = pursuit.handshake?.localIndex { indices[index] = nil }
        pursuit.handshake = nil
        pursuit.failedResponses = 0
        pursuit.reported = nil
        let isFirst = pursuit.firstAttempt == nil
        if isFirst { pursuit.firstAttempt = moment.now }
        if peer.hasConfiguredEndpoint, !isFirst || peer.endpoint == nil {
            actions.append(.resolve(peer.identifier))
        }
        if peer.endpoint == nil {
            if !isFirst { peer.failure = .name }
        } else {
            initiate(&pursuit, peer, at: moment, &actions)
        }
        let gap = pursuit.takeGap(packetsWait: pursuit.seriesStart != nil)
        pursuit.nextAttempt = moment.now + gap + jitter()
        peer.pursuit = pursuit
    }

    private mutating func initiate(
        _ pursuit: inout Pursuit<C>,
        _ peer: PeerState<C>,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        let localIndex = claimIndex(for: .handshake(peer.identifier))
        let label = labels.label(after: peer.lastLabelSent, wallClock: moment.wallClock)
        let started = InitiatorHandshake<C>.start(
            identity,
            peer: peer.publicKey,
            staticShared: peer.staticShared,
            ephemeral: SecretKey(random: &random),
            localIndex: localIndex,
            timestamp: label
        )
        guard let (handshake, message) = started else {
            indices[localIndex] = nil
            return
        }
        peer.lastLabelSent = label
        peer.lastInitiationSent = moment.now
        pursuit.handshake = handshake
        pursuit.attempts += 1
        if pursuit.firstSent == nil { pursuit.firstSent = moment.now }
        actions.append(.timestampUsed(label))
        send(message.bytes, to: peer, at: moment, &actions)
    }

    /// Why the last attempt found no answer.
    private func outcome(of pursuit: Pursuit<C>, failure: PeerFailure?) -> PeerFailure {
        if pursuit.failedResponses > 0 { return .answeredNotAuthentic }
        return pursuit.reported ?? .silent
    }

    private func hasSentData(_ sample: TrafficSample, since last: Instant?) -> Bool {
        guard let sent = sample.lastDataSent, let last else { return false }
        return sent > last
    }

    func isAnswered(_ peer: PeerState<C>, since instant: Instant) -> Bool {
        peer.lastAnswer.map { $0 >= instant } ?? false
    }

    private mutating func jitter() -> Interval {
        Interval(nanoseconds: .random(in: 0...Timing.maximumJitter.nanoseconds, using: &random))
    }
}
