package import LinuxSystem
package import NetworkTypes
package import WireGuardConfig
package import WireGuardCore

/// What the owner of handshakes and peers tells the packet loop.
///
/// Commands take effect in the order in which they were posted, between two batches of packets.
package enum LoopCommand: Sendable {
    /// Adds a peer, whose traffic is told by `watch`; one that is there already is left as it is.
    case addPeer(PeerIdentifier, PeerWatch, endpoint: Endpoint?)
    /// Forgets a peer with its keys and waiting packets.
    case removePeer(PeerIdentifier)
    /// Where the peer's datagrams go from now on; nil: nowhere, until it is heard from.
    case setEndpoint(PeerIdentifier, Endpoint?)
    /// Replaces the whole table.
    case setAllowedIPs(AllowedIPsTable<PeerIdentifier>)
    /// Puts a session to use.
    ///
    /// Packets under it are taken from now on, before any `send` posted later leaves. As initiator we send with it (post
    /// `keepalive` next); as responder only after the first packet under it, told by `LoopNotice.confirmed`.
    case install(PeerIdentifier, SessionKeys)
    /// Forgets and wipes all sessions of a peer.
    case wipeSessions(PeerIdentifier)
    /// Forgets and wipes the sessions of a peer under which nothing may be received any more.
    case wipeExpired(PeerIdentifier)
    /// Sends a datagram as it is, in its turn: a handshake message.
    case send([UInt8], to: Endpoint)
    /// Sends the packets that wait, else an empty one; nothing without a session.
    case keepalive(PeerIdentifier)
    /// Drops the packets that wait for a session.
    case dropStaged(PeerIdentifier)
    /// The tunnel's MTU: padding never goes beyond it.
    case setMTU(Int)
    /// Whether outer packets that are too long for the path leave in fragments; else they are dropped. Either way the path is
    /// told of by `LoopNotice.pathError` with EMSGSIZE, and senders of what may not be divided are told what fits.
    case setFragmentation(allowed: Bool)
    /// Does without these offloads from now on, and with all others that there are.
    case setDisabledOffloads(Set<Offload>)
    /// Forgets what was said of the paths to the peers: the network has changed.
    case forgetPaths
    /// Has the paths to an address, or all, tried again with packets that they were found to swallow.
    case forgetBlackHoles(at: IPAddress?)
    /// Replaces the outer sockets.
    ///
    /// Where one can't be used, `LoopNotice.socketFailed` tells why, and it is done without.
    case setSockets(v4: SharedDescriptor?, v6: SharedDescriptor?)
    /// Calls a function, to show that the loop has its turn; not for packets.
    case answer(@Sendable () -> Void)
}
