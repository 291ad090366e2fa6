import NetworkTypes

/// As the initiator of a handshake.
extension DeviceCore {
    mutating func receiveResponse(
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
}
