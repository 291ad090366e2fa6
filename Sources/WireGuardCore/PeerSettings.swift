package import NetworkTypes

/// What is configured of a peer.
package struct PeerSettings: Sendable {
    package let publicKey: PublicKey
    /// All zero for none.
    package var presharedKey: SecretKey
    /// Where to send to; nil while its name isn't resolved, and for a peer that is only waited for.
    package var endpoint: Endpoint?
    /// Whether the configuration names an endpoint, resolved or not: such a peer is called, and counts for the verdict.
    package var hasConfiguredEndpoint: Bool
    /// Seconds between packets that keep a NAT open; 0 for none.
    package var persistentKeepaliveSeconds: UInt16

    package init(
        publicKey: PublicKey,
        presharedKey: SecretKey = .zero,
        endpoint: Endpoint? = nil,
        hasConfiguredEndpoint: Bool = false,
        persistentKeepaliveSeconds: UInt16 = 0
    ) {
        self.publicKey = publicKey
        self.presharedKey = presharedKey
        self.endpoint = endpoint
        self.hasConfiguredEndpoint = hasConfiguredEndpoint
        self.persistentKeepaliveSeconds = persistentKeepaliveSeconds
    }
}

/// Why a key or a peer can't be taken.
package enum PeerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A peer with this public key is there already.
    case duplicatePeer
    /// The public key is one of the few with which every shared secret is zero.
    case weakPublicKey
    /// The public key is our own.
    case ownPublicKey

    package var description: String {
        switch self {
        case .duplicatePeer: "two peers have the same public key"
        case .weakPublicKey: "a peer's public key is one of the few with which every shared secret is zero"
        case .ownPublicKey: "a peer's public key is the tunnel's own"
        }
    }
}
