package import LinuxSystem
package import NetworkTypes
package import WireGuardCore

/// What the packet loop tells the owner of handshakes and peers.
package enum LoopNotice: Sendable, Equatable {
    /// A message of type 1 to 3 came in: of right length, and not authenticated.
    case handshake([UInt8], from: Endpoint)
    /// Packets wait for a session, or the session in use is due for renewal; told again every second while it is so.
    case handshakeWanted(PeerIdentifier)
    /// The peer's sample has begun to want a timer, while nobody watches it (`PeerWatch`).
    case timerWanted(PeerIdentifier)
    /// An authentic packet came in, as `PeerWatch.askHeard` had asked to be told.
    case heard(PeerIdentifier)
    /// The first packet under a session that we were the responder of: the peer has the keys, we send with it from now on.
    case confirmed(PeerIdentifier, localIndex: UInt32)
    /// An authentic packet came from a new address, which is used from now on.
    case roamed(PeerIdentifier, Endpoint)
    /// The network or this machine refused datagrams to an address; see `UDPSocket.PathError`.
    case pathError(Endpoint?, code: Int32)
    /// The path to an address swallows outer packets of the one length without a word, and carries the other; the senders of
    /// longer packets are told. Holds until `LoopCommand.forgetBlackHoles`.
    case blackHole(Endpoint, passing: Int, failing: Int)
    /// A socket of `setSockets` can't be used.
    case socketFailed(SystemError)
    /// The loop had to begin doing without an offload.
    case abilitiesChanged(LoopAbilities)
    /// The TUN device is gone or useless (errno); nothing is read from it any more.
    case deviceFailed(Int32)
}
