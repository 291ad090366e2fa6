/// What a provider knows of one peer, read when asked for (design, sections 3 and 9).
package struct PeerView: Codable, Equatable, Sendable {
    /// 32 bytes in base64.
    package var publicKey: String
    /// Where packets go now; null before the first address is known.
    package var endpoint: String?
    /// The endpoint as it was configured, a name perhaps; null for a peer that calls us.
    package var configuredEndpoint: String?
    package var state: State
    package var latestHandshake: Timestamp?
    package var lastHeard: Timestamp?
    package var verification: Verification
    /// Outer payload, in bytes.
    package var receivedBytes: UInt64
    /// Outer payload, in bytes.
    package var sentBytes: UInt64
    package var allowedIPs: [String]
    /// Seconds; null for none.
    package var persistentKeepalive: Int?
    package var hasPresharedKey: Bool
    /// Handshakes sent since the last that was answered.
    package var attempts: Int
    package var failure: FailureView?

    package enum State: String, Codable, Sendable { case idle, handshaking, alive, silent }
    package enum Verification: String, Codable, Sendable { case live, idle, expired }

    package init(
        publicKey: String,
        endpoint: String?,
        configuredEndpoint: String?,
        state: State,
        latestHandshake: Timestamp?,
        lastHeard: Timestamp?,
        verification: Verification,
        receivedBytes: UInt64,
        sentBytes: UInt64,
        allowedIPs: [String],
        persistentKeepalive: Int?,
        hasPresharedKey: Bool,
        attempts: Int,
        failure: FailureView?
    ) {
        self.publicKey = publicKey
        self.endpoint = endpoint
        self.configuredEndpoint = configuredEndpoint
        self.state = state
        self.latestHandshake = latestHandshake
        self.lastHeard = lastHeard
        self.verification = verification
        self.receivedBytes = receivedBytes
        self.sentBytes = sentBytes
        self.allowedIPs = allowedIPs
        self.persistentKeepalive = persistentKeepalive
        self.hasPresharedKey = hasPresharedKey
        self.attempts = attempts
        self.failure = failure
    }
}

extension PeerView {
    private enum CodingKeys: String, CodingKey {
        case publicKey, endpoint, configuredEndpoint, state, latestHandshake, lastHeard, verification, receivedBytes
        case sentBytes, allowedIPs, persistentKeepalive, hasPresharedKey, attempts, failure
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(publicKey, forKey: .publicKey)
        try c.encode(endpoint, forKey: .endpoint)
        try c.encode(configuredEndpoint, forKey: .configuredEndpoint)
        try c.encode(state, forKey: .state)
        try c.encode(latestHandshake, forKey: .latestHandshake)
        try c.encode(lastHeard, forKey: .lastHeard)
        try c.encode(verification, forKey: .verification)
        try c.encode(receivedBytes, forKey: .receivedBytes)
        try c.encode(sentBytes, forKey: .sentBytes)
        try c.encode(allowedIPs, forKey: .allowedIPs)
        try c.encode(persistentKeepalive, forKey: .persistentKeepalive)
        try c.encode(hasPresharedKey, forKey: .hasPresharedKey)
        try c.encode(attempts, forKey: .attempts)
        try c.encode(failure, forKey: .failure)
    }
}

/// Why a peer hasn't answered, by class: the protocol lets nobody know more (design, section 3).
package struct FailureView: Codable, Equatable, Sendable {
    package var kind: Kind
    /// One sentence: what was seen.
    package var message: String
    /// What to check.
    package var remedy: String
    package var endpoint: String?

    package enum Kind: String, Codable, Sendable {
        /// The endpoint's name doesn't resolve.
        case name
        /// The network has no way there.
        case unreachable
        /// An ICMP message said that nobody listens: a hint only, anybody can forge it.
        case refused
        /// A response came that doesn't open: the pre-shared key.
        case answeredNotAuthentic
        /// Nothing came back.
        case silent
    }

    package init(kind: Kind, message: String, remedy: String, endpoint: String?) {
        self.kind = kind
        self.message = message
        self.remedy = remedy
        self.endpoint = endpoint
    }
}
