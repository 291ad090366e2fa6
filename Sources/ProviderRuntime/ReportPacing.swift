package import NetworkTypes

/// When to tell changes on: at once, but after several in a row only a few a second, what follows in one piece.
package struct ReportPacing: Sendable {
    /// Reports that may follow each other at once, as a start's stages do.
    package static let burst = 8
    /// The time after which one more may be told.
    package static let gap = Interval.milliseconds(250)

    private var allowance = burst
    /// When the allowance was last counted.
    private var countedAt = Instant.zero
    private var waiting = false

    package init() {}

    /// When a change that waits is to be told; nil where none does.
    package var deadline: Instant? { waiting ? countedAt + Self.gap : nil }

    /// Takes note of a change.
    ///
    /// - Returns: whether to tell it now; else it waits for `deadline`.
    package mutating func changed(now: Instant) -> Bool {
        waiting = true
        return expire(now: now)
    }

    /// - Returns: whether to tell now what waited.
    package mutating func expire(now: Instant) -> Bool {
        guard waiting else { return false }
        let gained = Int(max(0, (now - countedAt).nanoseconds) / Self.gap.nanoseconds)
        if allowance + gained >= Self.burst {
            allowance = Self.burst
            countedAt = now
        } else {
            allowance += gained
            countedAt = countedAt + Self.gap * gained
        }
        guard allowance > 0 else { return false }
        allowance -= 1
        waiting = false
        return true
    }
}
