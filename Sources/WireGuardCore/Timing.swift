package import NetworkTypes

/// The time limits of the protocol.
///
/// Source: WireGuard whitepaper, section 6.1, where no other is named.
package enum Timing {
    /// REKEY_AFTER_TIME: an initiator that sends with a session this old starts a new handshake.
    package static let rekeyAfter = Interval.seconds(120)
    /// REJECT_AFTER_TIME: nothing is sent with or taken from a session this old.
    package static let rejectAfter = Interval.seconds(180)
    /// REKEY_ATTEMPT_TIME: how long a series of attempts lasts for which packets wait.
    package static let rekeyAttempt = Interval.seconds(90)
    /// REKEY_TIMEOUT: the least time between two initiations to a peer, over one way.
    package static let rekeyTimeout = Interval.seconds(5)
    /// The gaps between the first initiations over a way that has just come; receivers take up to 20 a second from a peer.
    ///
    /// Source: tunneld's own.
    package static let hastyGaps: [Interval] = [.seconds(1), .seconds(2)]
    /// KEEPALIVE_TIMEOUT: a peer that sent data gets at least an empty packet within this time.
    package static let keepalive = Interval.seconds(10)
    /// The most that chance adds to a retry, so that two ends that started at once don't stay in step (section 6.4).
    package static let maximumJitter = Interval.milliseconds(333)
    /// Data that found no answer for this long brings on a handshake (section 6.5).
    package static let unanswered = keepalive + rekeyTimeout
    /// The age at which an initiator that only receives starts a new handshake, so that the session never runs out under it
    /// (section 6.2).
    package static let rekeyOnReceive = rejectAfter + keepalive * -1 + rekeyTimeout * -1
    /// The age at which all keys of a peer are wiped where no new session came (section 6.3).
    package static let wipeAfter = rejectAfter * 3
    /// COOKIE_REFRESH_TIME: how long a cookie is good, and how long the secret behind it is used (section 5.4.7).
    package static let cookie = Interval.seconds(120)
    /// A cookie that we hold is left alone this long before it ends, so that it doesn't end on its way.
    package static let cookieLatency = Interval.seconds(5)
    /// A peer that is heard this near to the present, or to what was last sent to it, is known to live.
    ///
    /// Source: tunneld's design, section 3.
    package static let live = Interval.seconds(25)
    /// The longest gap between two attempts for which no packet waits.
    ///
    /// Source: tunneld's design, section 3.
    package static let maximumGap = Interval.seconds(60)
}

/// The limits of the protocol in messages.
package enum MessageLimits {
    /// REKEY_AFTER_MESSAGES, whitepaper section 6.1.
    package static var rekeyAfter: UInt64 { @_noAllocation @_noLocks get { 1 << 60 } }
    /// REJECT_AFTER_MESSAGES, whitepaper section 6.1: counters from here on are neither used nor taken.
    package static var rejectAfter: UInt64 { @_noAllocation @_noLocks get { .max &- (1 << 13) } }
}
