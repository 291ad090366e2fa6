/// A rate with a burst, as one instant: when the bucket will be full again.
///
/// It costs no timer.
package struct TokenBucket: Sendable {
    private let interval: Interval
    private let burst: Interval
    private var fullAt = Instant.zero

    /// A full bucket of `burst` tokens, to which `perSecond` are added a second; both at least 1.
    package init(perSecond: Int, burst: Int) {
        interval = Interval(nanoseconds: 1_000_000_000 / Int64(perSecond))
        self.burst = interval * burst
    }

    /// Takes a token.
    ///
    /// - Returns: false where there is none.
    package mutating func take(now: Instant) -> Bool {
        let next = max(fullAt, now) + interval
        guard next - now <= burst else { return false }
        fullAt = next
        return true
    }
}
