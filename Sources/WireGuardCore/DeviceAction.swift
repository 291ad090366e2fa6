package import NetworkTypes

/// What the driver must do, in the order given.
package enum DeviceAction: Sendable {
    /// Send a datagram; a peer is named where the outcome says something about it.
    case send([UInt8], to: Endpoint, peer: PeerIdentifier?)
    /// Give a session to the packet loop.
    ///
    /// As initiator the loop sends with it at once, what waits or else an empty packet: the responder may not send before it
    /// has heard from us. A response that is sent after it must not leave before the loop can take packets under the session.
    case install(PeerIdentifier, SessionKeys)
    /// The peer's datagrams go to another address from now on.
    case endpointChanged(PeerIdentifier, Endpoint)
    /// Send what waits for this peer, or an empty packet where nothing waits.
    case keepalive(PeerIdentifier)
    /// Drop what waits for this peer: nobody answered for 90 s.
    case dropStaged(PeerIdentifier)
    /// Forget and wipe the session with this index of ours, if the loop still has it; its keys are too old, or no longer right.
    case discard(PeerIdentifier, localIndex: UInt32)
    /// Forget and wipe every session of this peer that is past its limit by now; younger ones stay.
    case discardExpired(PeerIdentifier)
    /// Whether a timer runs that will look at the peer's traffic.
    ///
    /// While it doesn't, the loop has `trafficChanged` called as soon as the sample wants a timer. A driver that is told `false`
    /// calls once more itself where the sample wants one by then, for the loop may have kept quiet in between.
    case watch(PeerIdentifier, Bool)
    /// Call `trafficChanged` at the peer's next authentic packet, or at once if one came in after this instant.
    case tellWhenHeard(PeerIdentifier, after: Instant)
    /// Look the endpoint's name up again and hand in what it gives with `setEndpoint`.
    case resolve(PeerIdentifier)
    /// The label that an initiation carries; to be stored, so that a later run starts beyond it.
    case timestampUsed(Timestamp)
    /// Two addresses take turns under one key: it is probably used on two machines. At most once an hour for each peer.
    case warnSharedKey(PeerIdentifier, Endpoint, Endpoint)
}
