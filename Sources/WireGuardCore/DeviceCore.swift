package import NetworkTypes

/// The whole protocol of one device except the packets themselves: handshakes, cookies, timers, and what is known of peers.
///
/// It never acts. Each call says what happened and when, and adds to `actions` what the driver must do; afterwards the driver
/// arms one timer for `deadline` and calls `expire` when it fires. `nil` means that there is nothing to wait for. All tables
/// have limits, and nothing that comes from the network can end the process.
///
/// One queue owns it. Source: WireGuard whitepaper; tunneld's design, section 3.
package struct DeviceCore<C: Cryptography, Random: RandomNumberGenerator>: ~Copyable {
    var identity: DeviceIdentity<C>
    var checker: MessageChecker<C>
    var limiter = HandshakeLimiter()
    var labels: TimestampSource
    var random: Random

    var peers: [PeerIdentifier: PeerState<C>] = [:]
    var identifiers: [PublicKey: PeerIdentifier] = [:]
    var indices: [UInt32: IndexOwner] = [:]
    private var lastNumber = 0

    var isStarted = false
    /// This machine's way to the peers, as far as it was told.
    package internal(set) var path = PathState.usable
    /// Whether the device has been connected since its start.
    var wasConnected = false

    /// Messages that came to nothing, by reason.
    package internal(set) var counters = HandshakeCounters()

    /// What an index of ours stands for.
    enum IndexOwner {
        case handshake(PeerIdentifier)
        case session(PeerIdentifier)
    }

    /// - Parameters:
    ///   - random: for keys and indices; must be unpredictable outside of tests.
    ///   - lastTimestamp: the latest label that an earlier run is known to have used.
    /// - Returns: nil where the cryptography gives no public key of 32 bytes.
    package init?(privateKey: SecretKey, random: Random, lastTimestamp: Timestamp? = nil) {
        guard let identity = DeviceIdentity<C>(privateKey: privateKey) else { return nil }
        self.identity = identity
        checker = MessageChecker(own: identity.publicKey)
        labels = TimestampSource(floor: lastTimestamp)
        self.random = random
    }

    package var publicKey: PublicKey { identity.publicKey }
    package var privateKey: SecretKey { identity.privateKey }

    /// The latest label that this run or an earlier one has used.
    package var lastTimestamp: Timestamp? { labels.latest }

    /// Whether the wall clock was set back behind the latest label: peers may refuse ours if they don't come from here.
    package func isClockBehind(at moment: Moment) -> Bool { labels.isAhead(of: moment.wallClock) }

    /// When `expire` must be called; nil where nothing is waited for.
    package var deadline: Instant? {
        var earliest = limiter.deadline
        for peer in peers.values {
            guard let deadline = peer.deadline else { continue }
            earliest = earliest.map { min($0, deadline) } ?? deadline
        }
        return earliest
    }

    /// All peers, oldest first.
    package var peerIdentifiers: [PeerIdentifier] { peers.keys.sorted() }

    /// The indices in use; with each peer at most four.
    package var indexCount: Int { indices.count }

    /// The sources of handshake messages that are remembered; bounded, and given back after a flood.
    package var sourceCount: Int { limiter.sourceCount }

    package func peer(_ publicKey: PublicKey) -> PeerIdentifier? { identifiers[publicKey] }

    /// The peers whose datagrams go to an endpoint: whom an error of the network may be about.
    package func peers(at endpoint: Endpoint) -> [PeerIdentifier] {
        peers.values.filter { $0.endpoint == endpoint }.map(\.identifier).sorted()
    }

    mutating func nextIdentifier() -> PeerIdentifier {
        lastNumber += 1
        return PeerIdentifier(lastNumber)
    }

    /// An index that nobody can guess and nothing else has.
    mutating func claimIndex(for owner: IndexOwner) -> UInt32 {
        while true {
            let index = UInt32.random(in: .min ... .max, using: &random)
            guard indices[index] == nil else { continue }
            indices[index] = owner
            return index
        }
    }
}

/// Handshake messages that came to nothing.
package struct HandshakeCounters: Hashable, Sendable {
    /// Wrong type or length.
    package var malformed = 0
    /// mac1 doesn't match: not meant for our key.
    package var wrongMac = 0
    /// Not the sender's turn, or more than can be served.
    package var limited = 0
    /// Answered with a cookie.
    package var cookiesSent = 0
    /// No peer has this key, or no handshake this index.
    package var unknownPeer = 0
    /// It doesn't open.
    package var notAuthentic = 0
    /// An initiation that isn't newer than the last.
    package var replayed = 0

    package init() {}
}
