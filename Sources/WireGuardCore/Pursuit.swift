import NetworkTypes

/// The search for an answer from a peer: initiations are repeated until a session is confirmed.
///
/// Source: WireGuard whitepaper, section 6.4; the growing gap is tunneld's design, section 3.
struct Pursuit<C: Cryptography> {
    /// The handshake that a response can still complete: that of the last initiation.
    var handshake: InitiatorHandshake<C>?
    /// When something first wanted out that the peer hasn't answered since.
    var wantedSince: Instant
    /// Whether packets want out (or a keepalive), not only the tunnel's own call at its start.
    var isForTraffic: Bool
    /// When the search began, or was excused last.
    var startedAt: Instant
    /// When the series began for which packets wait; it ends after 90 s.
    var seriesStart: Instant?
    /// Initiations sent.
    var attempts = 0
    var firstAttempt: Instant?
    /// When the first initiation left: later than the first attempt where no address was known by then.
    var firstSent: Instant?
    var nextAttempt: Instant
    /// How long to wait after the next attempt, if nothing wants out by then.
    var gap = Timing.rekeyTimeout
    /// How long to wait after the next attempts in place of that, the first one first.
    var hastyGaps: ArraySlice<Interval> = []
    /// What the network said about the last attempt.
    var reported: PeerFailure?
    /// Responses to the last initiation that didn't open.
    var failedResponses = 0
    /// Whether the machine has slept since, or was about to: its time is no time in which the peer could answer.
    var isExcused = false

    init(wantedSince: Instant, isForTraffic: Bool, startedAt: Instant, firstAttempt: Instant) {
        self.wantedSince = wantedSince
        self.isForTraffic = isForTraffic
        self.startedAt = startedAt
        nextAttempt = firstAttempt
    }

    /// Counts the time of the search, and of the series in it, from now on, once for a sleep.
    mutating func excuse(at now: Instant) {
        isExcused = false
        startedAt = now
        if seriesStart != nil { seriesStart = now }
    }

    /// Makes the next attempt at once, and the ones after it soon: what goes first over a way that has just come is often
    /// lost, be it that the kernel still waits for a neighbour's answer from when there was none.
    ///
    /// Answers may take longer than the first gap: the next is larger.
    mutating func hasten(at now: Instant) {
        nextAttempt = now
        gap = Timing.rekeyTimeout
        hastyGaps = Timing.hastyGaps[...]
    }

    /// The gap after the attempt that is being made, and the next one doubled up to the limit.
    mutating func takeGap(packetsWait: Bool) -> Interval {
        if let hasty = hastyGaps.popFirst() { return hasty }
        let own = gap
        gap = min(gap * 2, Timing.maximumGap)
        return packetsWait ? Timing.rekeyTimeout : own
    }
}
