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
}
