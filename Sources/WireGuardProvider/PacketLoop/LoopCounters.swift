package import PacketIO

/// What the packet loop dropped, and why; each counts packets since the loop began.
package struct LoopCounters: Sendable, Equatable {
    /// Datagrams of no known type or of a wrong length, and what came out of the tunnel as no IP packet.
    package internal(set) var malformed: UInt64 = 0
    /// Datagrams for a session that we don't have (any more).
    package internal(set) var unknownSession: UInt64 = 0
    /// Datagrams that don't open with the session's key.
    package internal(set) var unauthentic: UInt64 = 0
    /// Datagrams that came twice, or too late to know.
    package internal(set) var replayed: UInt64 = 0
    /// Authentic packets with a source address that isn't the peer's.
    package internal(set) var wrongSource: UInt64 = 0
    /// Authentic packets marked as congested on their way whose sender couldn't have been told (RFC 6040).
    package internal(set) var congested: UInt64 = 0
    /// Handshake messages beyond those that may wait.
    package internal(set) var handshakesDropped: UInt64 = 0
    /// Packets to addresses that belong to no peer.
    package internal(set) var noPeer: UInt64 = 0
    /// Packets to a peer whose address isn't known.
    package internal(set) var noEndpoint: UInt64 = 0
    /// Packets too long to pass whole to their peer, which may not be fragmented.
    package internal(set) var tooBig: UInt64 = 0
    /// Packets that waited in vain for a session.
    package internal(set) var stagedDropped: UInt64 = 0
    /// Our own datagrams that were routed into the tunnel.
    package internal(set) var looped: UInt64 = 0
    /// Datagrams that this machine refused to send.
    package internal(set) var unsent: UInt64 = 0
    /// Packets handed to the TUN device, and those lost there.
    package internal(set) var device = TunWriter.Counters()
}
