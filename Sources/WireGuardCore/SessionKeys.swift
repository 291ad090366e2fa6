package import NetworkTypes

/// The outcome of a handshake: two keys and how the two ends call the session.
///
/// Whole and immutable, so that it can go from the owner of handshakes to the packet loop as one piece. The keys are wiped
/// when the last owner goes.
package final class SessionKeys: Sendable {
    package let sendKey: SecretKey
    package let receiveKey: SecretKey
    /// Ours: what stands in the packets that we receive.
    package let localIndex: UInt32
    /// The peer's: what stands in the packets that we send.
    package let remoteIndex: UInt32
    /// Whether we started the handshake: only the initiator renews a session for its age.
    package let isInitiator: Bool
    package let createdAt: Instant

    package init(
        sendKey: SecretKey,
        receiveKey: SecretKey,
        localIndex: UInt32,
        remoteIndex: UInt32,
        isInitiator: Bool,
        createdAt: Instant
    ) {
        self.sendKey = sendKey
        self.receiveKey = receiveKey
        self.localIndex = localIndex
        self.remoteIndex = remoteIndex
        self.isInitiator = isInitiator
        self.createdAt = createdAt
    }
}

/// What a session's age and use allow.
///
/// Source: WireGuard whitepaper, section 6.2.
package enum SessionLimits {
    /// Whether a session must no longer be used, in either direction.
    ///
    /// - Parameter counter: what the next packet would be sent with.
    package static func isRejected(createdAt: Instant, counter: UInt64, now: Instant) -> Bool {
        counter >= MessageLimits.rejectAfter || isOlder(createdAt, than: Timing.rejectAfter, now: now)
    }

    /// Whether sending a packet calls for a new handshake; the packet is sent with the old session all the same.
    package static func isRekeyDueOnSend(
        createdAt: Instant,
        isInitiator: Bool,
        counter: UInt64,
        now: Instant
    ) -> Bool {
        counter >= MessageLimits.rekeyAfter
            || (isInitiator && isOlder(createdAt, than: Timing.rekeyAfter, now: now))
    }

    /// Whether receiving a packet calls for a new handshake: the session would end before the next keepalive's answer.
    package static func isRekeyDueOnReceive(createdAt: Instant, isInitiator: Bool, now: Instant) -> Bool {
        isInitiator && isOlder(createdAt, than: Timing.rekeyOnReceive, now: now)
    }

    private static func isOlder(_ createdAt: Instant, than age: Interval, now: Instant) -> Bool {
        now.nanoseconds >= createdAt.nanoseconds
            && now.nanoseconds &- createdAt.nanoseconds >= UInt64(bitPattern: age.nanoseconds)
    }
}
