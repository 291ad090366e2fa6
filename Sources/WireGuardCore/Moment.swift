package import NetworkTypes

/// What the clocks show when something happens.
package struct Moment: Hashable, Sendable {
    /// By the clock that counts sleep; all timers go by it.
    package let now: Instant
    /// By the wall clock; goes into initiations and nowhere else.
    package let wallClock: Timestamp

    package init(now: Instant, wallClock: Timestamp) {
        self.now = now
        self.wallClock = wallClock
    }
}
