package import NetworkTypes

/// What has become of this machine's way to the peers.
package enum PathChange: Sendable, Equatable {
    /// Something of the network changed, but the way is the one that it was.
    case elsewhere
    /// The way is another one, or is there again.
    case moved
    /// There is none.
    case lost
}

/// What is known of this machine's way to the peers.
package enum PathState: Sendable, Equatable {
    case usable
    case lost
    /// It is there again since this moment; that it leads to a peer is proven by the first that is heard after it.
    case restored(Instant)
}
