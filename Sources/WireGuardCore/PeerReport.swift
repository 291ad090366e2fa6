package import NetworkTypes

/// What can be told of a peer when it is asked for.
package struct PeerReport: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        /// Nothing is under way, and nothing is known to be wrong.
        case idle
        /// A handshake is under way that the peer may still answer.
        case handshaking
        /// Heard lately.
        case alive
        /// Left what it was sent unanswered, or has never answered.
        case silent
    }

    package enum Verification: String, Hashable, Sendable {
        /// Heard since the last data was sent, or within 25 s of it, and that not longer ago than 25 s.
        case live
        /// Not lately; a peer that has nothing to say can't be known.
        case idle
        /// No session younger than 180 s: its keys are gone.
        case expired
    }

    package let publicKey: PublicKey
    /// In use now; learned from authentic packets, or configured.
    package let endpoint: Endpoint?
    package let hasConfiguredEndpoint: Bool
    package let persistentKeepaliveSeconds: UInt16
    package let state: State
    package let verification: Verification
    /// The last authentic message of any kind.
    package let lastHeard: Instant?
    /// The last handshake that both ends have proven.
    package let latestHandshake: Instant?
    /// Initiations sent since the peer was last reached.
    package let attempts: Int
    /// What became of the last attempt; nil once the peer has answered.
    package let failure: PeerFailure?
    /// UDP payload of authentic messages, handshakes too.
    package let receivedBytes: UInt64
    /// UDP payload, handshakes too.
    package let sentBytes: UInt64
    /// Since when two addresses have been taking turns under the peer's key.
    package let sharedKeySuspected: Instant?
}

/// Why a peer isn't reached, as far as anybody can know.
///
/// Source: tunneld's design, section 3.
package enum PeerFailure: String, Hashable, Sendable {
    /// The endpoint's name doesn't resolve.
    case name
    /// The network has no way there.
    case unreachable
    /// Somebody said that nobody listens there (ICMP, so only a hint).
    case refused
    /// A response came that doesn't open: the pre-shared keys differ.
    case answeredNotAuthentic
    /// No answer: a wrong key at either end, a filter, a wrong port, a peer that is off. All look the same.
    case silent
}

/// What the device's peers together say of the tunnel.
package enum DeviceVerdict: String, Hashable, Sendable {
    case connecting, connected, reasserting
}
