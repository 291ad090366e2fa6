import NetworkTypes

/// All that the owner of handshakes keeps of one peer.
final class PeerState<C: Cryptography> {
    let identifier: PeerIdentifier
    let publicKey: PublicKey
    var staticShared: SecretKey
    var presharedKey: SecretKey
    var signer: MessageSigner<C>

    var endpoint: Endpoint?
    var hasConfiguredEndpoint: Bool
    var persistentKeepaliveSeconds: UInt16
    var history = EndpointHistory()

    // Handshakes.
    var pursuit: Pursuit<C>?
    var lastInitiationSent: Instant?
    var lastLabelSent: Timestamp?
    /// The greatest label that the peer has sent: an older one is a replay.
    var greatestLabel: Timestamp?
    var lastInitiationHeard: Instant?

    /// The sessions as the packet loop has them.
    var sessions = KeyPairSlots<SessionReference>()
    /// Indices of sessions that the loop still had when we no longer did; to be wiped with the others.
    private(set) var strays: [UInt32] = []

    // Timers.
    var deadline: Instant?
    /// What the loop was last told about `DeviceAction.watch`; nil where it must be told.
    var isWatched: Bool? = false
    /// When the loop was last asked for a keepalive that its sample may not show yet.
    var keepaliveAsked: Instant?
    /// When all keys are to be wiped.
    var wipeAt: Instant?

    // What is known of it.
    var lastHeard: Instant?
    /// The last authentic message that shows that the peer gets what we send: any but an initiation.
    var lastAnswer: Instant?
    var latestHandshake: Instant?
    /// Whether a handshake has ever been confirmed.
    var isConfirmed = false
    /// Whether it left traffic unanswered, by the rule of `reasserting`.
    var leftTrafficUnanswered = false
    var wasSentData = false
    var failure: PeerFailure?
    var handshakeBytesSent: UInt64 = 0
    var handshakeBytesReceived: UInt64 = 0

    init(_ identifier: PeerIdentifier, _ settings: PeerSettings, staticShared: SecretKey) {
        self.identifier = identifier
        publicKey = settings.publicKey
        self.staticShared = staticShared
        presharedKey = settings.presharedKey
        signer = MessageSigner(peer: settings.publicKey)
        endpoint = settings.endpoint
        hasConfiguredEndpoint = settings.hasConfiguredEndpoint
        persistentKeepaliveSeconds = settings.persistentKeepaliveSeconds
    }

    /// Remembers a session that the loop has promoted while we had dropped it for a newer one.
    func noteStray(_ localIndex: UInt32) {
        if strays.count == 4 { strays.removeFirst() }
        strays.append(localIndex)
    }

    func forgetStrays() { strays.removeAll() }

    /// Whether packets can be sent to the peer now.
    func hasUsableSession(at now: Instant) -> Bool {
        sessions.current.map { now < $0.createdAt + Timing.rejectAfter } ?? false
    }

    /// Whether a session that both ends have used is young enough for packets to be taken.
    func hasLiveSession(at now: Instant) -> Bool {
        [sessions.current, sessions.previous].contains { session in
            session.map { now < $0.createdAt + Timing.rejectAfter } ?? false
        }
    }
}

/// What the owner of handshakes remembers of a session whose keys the loop has.
struct SessionReference {
    let localIndex: UInt32
    let createdAt: Instant
}
