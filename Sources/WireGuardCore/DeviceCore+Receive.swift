package import NetworkTypes

extension DeviceCore {
    /// Takes a datagram of type 1 to 3; anything else is counted and dropped.
    package mutating func receive(
        _ datagram: [UInt8],
        from source: Endpoint,
        at moment: Moment,
        actions: inout [DeviceAction]
    ) {
        guard isStarted else { return }
        switch kind(of: datagram) {
        case .initiation: receiveInitiation(datagram, from: source, at: moment, &actions)
        case .response: receiveResponse(datagram, from: source, at: moment, &actions)
        case .cookieReply: receiveCookieReply(datagram, at: moment)
        case .transport, .malformed: counters.malformed += 1
        }
    }

    private func kind(of datagram: [UInt8]) -> DatagramKind {
        guard (DatagramKind.smallestTransportSize...DatagramKind.initiationSize).contains(datagram.count) else {
            return .malformed
        }
        var copy = datagram
        var span = copy.mutableSpan
        return DatagramKind(of: unsafe span.mutableBytes)
    }

    private mutating func receiveInitiation(
        _ datagram: [UInt8],
        from source: Endpoint,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        guard checker.isMac1Valid(datagram) else {
            counters.wrongMac += 1
            return
        }
        let hasCookie = checker.isMac2Valid(datagram, from: source, now: moment.now)
        switch limiter.decide(from: source, hasValidCookie: hasCookie, now: moment.now) {
        case .drop:
            counters.limited += 1
        case .answerWithCookie:
            counters.cookiesSent += 1
            let reply = checker.reply(to: datagram, from: source, now: moment.now, random: &random)
            actions.append(.send(reply.bytes, to: source, peer: nil))
        case .serve:
            respond(to: datagram, from: source, at: moment, &actions)
        }
    }

    /// Opens an initiation and answers it.
    private mutating func respond(
        to datagram: [UInt8],
        from source: Endpoint,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        guard let message = InitiationMessage(parsing: datagram),
            var handshake = ResponderHandshake<C>(message, identity: identity)
        else {
            counters.notAuthentic += 1
            return
        }
        guard let identifier = identifiers[handshake.claimedPeer], let peer = peers[identifier] else {
            counters.unknownPeer += 1
            return
        }
        guard let label = handshake.timestamp(staticShared: peer.staticShared) else {
            counters.notAuthentic += 1
            return
        }
        guard isFresh(label, from: peer, now: moment.now) else {
            counters.replayed += 1
            return
        }
        peer.greatestLabel = label
        peer.lastInitiationHeard = moment.now
        peer.handshakeBytesReceived += UInt64(datagram.count)
        // Heard, but no answer: it may call because it doesn't get what we send.
        heard(peer, from: source, at: moment, &actions)

        let localIndex = claimIndex(for: .session(identifier))
        let response = handshake.respond(
            ephemeral: SecretKey(random: &random),
            localIndex: localIndex,
            presharedKey: peer.presharedKey,
            now: moment.now
        )
        guard let (keys, message) = response else {
            indices[localIndex] = nil
            counters.notAuthentic += 1
            return
        }
        install(keys, for: peer, at: moment, &actions)
        send(message.bytes, to: peer, at: moment, &actions)
    }

    /// Whether an initiation is newer than all before, and not one of a flood (50 a second, as Linux has it).
    private func isFresh(_ label: Timestamp, from peer: PeerState<C>, now: Instant) -> Bool {
        if let greatest = peer.greatestLabel, label <= greatest { return false }
        guard let last = peer.lastInitiationHeard else { return true }
        return now >= last + .milliseconds(20)
    }

    private mutating func receiveResponse(
        _ datagram: [UInt8],
        from source: Endpoint,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        // No cookie is asked for: the index proves that the sender has seen our initiation, which is all that a cookie proves.
        guard let message = ResponseMessage(parsing: datagram),
            case .handshake(let identifier)? = indices[message.receiver],
            let peer = peers[identifier], let handshake = peer.pursuit?.handshake,
            handshake.localIndex == message.receiver
        else {
            counters.unknownPeer += 1
            return
        }
        guard checker.isMac1Valid(datagram) else {
            counters.wrongMac += 1
            return
        }
        // Each costs two key agreements, so one initiation pays for a few only.
        guard (peer.pursuit?.failedResponses ?? 0) < 8 else {
            counters.limited += 1
            return
        }
        let keys = handshake.finish(
            message,
            identity: identity,
            presharedKey: peer.presharedKey,
            now: moment.now
        )
        guard let keys else {
            counters.notAuthentic += 1
            peer.pursuit?.failedResponses += 1
            peer.failure = .answeredNotAuthentic
            return
        }
        indices[message.receiver] = .session(identifier)
        peer.handshakeBytesReceived += UInt64(datagram.count)
        heard(peer, from: source, at: moment, &actions)
        peer.lastAnswer = moment.now
        install(keys, for: peer, at: moment, &actions)
        confirm(peer, at: moment, &actions)
    }

    private mutating func receiveCookieReply(_ datagram: [UInt8], at moment: Moment) {
        guard let message = CookieReplyMessage(parsing: datagram), let owner = indices[message.receiver] else {
            counters.unknownPeer += 1
            return
        }
        let identifier =
            switch owner {
            case .handshake(let identifier), .session(let identifier): identifier
            }
        guard let peer = peers[identifier], peer.signer.accept(message, now: moment.now) else {
            counters.notAuthentic += 1
            return
        }
    }

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
    private func heard(
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

    private mutating func install(
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
    private mutating func confirm(_ peer: PeerState<C>, at moment: Moment, _ actions: inout [DeviceAction]) {
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
