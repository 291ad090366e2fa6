import ControlAPI

/// What is known of one peer, for a person.
enum PeerText {
    /// - Parameter view: the tunnel; its own failure isn't told again.
    static func facts(_ peer: PeerView, of view: SessionView) -> [SessionText.Fact] {
        let now = view.readAt
        var facts: [SessionText.Fact] = [("endpoint", StyledText(endpoint(peer))), ("state", state(peer, at: now))]
        facts.append(("handshake", StyledText(handshake(peer, at: now))))
        let received = QuantityText.bytes(peer.receivedBytes)
        facts.append(("transfer", "received \(received), sent \(QuantityText.bytes(peer.sentBytes))"))
        facts.append(
            ("allowed IPs", StyledText(peer.allowedIPs.isEmpty ? "none" : peer.allowedIPs.joined(separator: ", ")))
        )
        if let seconds = peer.persistentKeepalive { facts.append(("keepalive", "every \(seconds) s")) }
        if peer.hasPresharedKey { facts.append(("shared key", "yes")) }
        if let failure = peer.failure, failure != view.failure {
            facts.append(("failure", StyledText(failure.message, .bad)))
            facts.append(("do", StyledText(failure.remedy)))
        }
        return facts
    }

    /// "192.0.2.1:51820 (vpn.example.org:51820)".
    static func endpoint(_ peer: PeerView) -> String {
        switch (peer.endpoint, peer.configuredEndpoint) {
        case (let endpoint?, let configured?) where endpoint != configured: "\(endpoint) (\(configured))"
        case (let endpoint?, _): endpoint
        case (nil, let configured?): "\(configured), no address known yet"
        case (nil, nil): "none: the peer calls us"
        }
    }

    private static func state(_ peer: PeerView, at now: Timestamp) -> StyledText {
        let state: StyledText =
            switch peer.state {
            case .alive: StyledText(peer.state.rawValue, .good)
            case .handshaking, .silent: StyledText(peer.state.rawValue, .attention)
            case .idle: StyledText(peer.state.rawValue)
            }
        let heard = "last heard \(QuantityText.age(peer.lastHeard, at: now))"
        guard peer.lastHeard != nil else { return state + ", never heard" }
        switch peer.verification {
        case .live: return state + ", verified: \(heard)"
        case .idle: return state + ", not verified since nothing was sent: \(heard)"
        case .expired: return state + ", the keys have expired: \(heard)"
        }
    }

    private static func handshake(_ peer: PeerView, at now: Timestamp) -> String {
        let age = "latest \(QuantityText.age(peer.latestHandshake, at: now))"
        guard peer.attempts > 0 else { return peer.latestHandshake == nil ? "never" : age }
        let attempts = "\(peer.attempts) sent without an answer"
        return peer.latestHandshake == nil ? attempts : "\(age); \(attempts)"
    }
}
