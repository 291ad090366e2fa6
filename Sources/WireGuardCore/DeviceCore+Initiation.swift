import NetworkTypes

/// As the responder of a handshake.
extension DeviceCore {
    mutating func receiveInitiation(
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
}
