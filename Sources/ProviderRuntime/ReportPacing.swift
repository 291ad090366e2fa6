package import NetworkTypes

/// When to tell changes on: the first at once, what follows within a quarter of a second in one piece.
package struct ReportPacing: Sendable {
    package static let gap = Interval.milliseconds(250)

    /// Before it nothing is told.
    private var notBefore = Instant.zero
    private var waiting = false

    package init() {}

    /// When a change that waits is to be told; nil where none does.
    package var deadline: Instant? { waiting ? notBefore : nil }

    /// Takes note of a change.
    ///
    /// - Returns: whether to tell it now; else it waits for `deadline`.
    package mutating func changed(now: Instant) -> Bool {
        waiting = true
        return expire(now: now)
    }

    /// - Returns: whether to tell now what waited.
    package mutating func expire(now: Instant) -> Bool {
        guard waiting, now >= notBefore else { return false }
        waiting = false
        notBefore = now + Self.gap
        return true
    }
}
