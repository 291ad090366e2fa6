/// A point on the clock that a program was told, in nanoseconds.
///
/// Pure modules never read a clock: they are handed instants. Programs take them from `CLOCK_BOOTTIME`, which also
/// counts while the machine sleeps (clock_gettime(2)), so a session that expired during a sleep is seen as expired.
package struct Instant: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's own zero (the boot).
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    package static let zero = Instant(nanoseconds: 0)
    /// Later than any instant that a clock shows: "no deadline".
    package static let distantFuture = Instant(nanoseconds: .max)

    package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The instant `interval` later; stays at the end of time instead of overflowing.
    package static func + (a: Instant, interval: Interval) -> Instant {
        if interval.nanoseconds >= 0 {
            let (sum, overflow) = a.nanoseconds.addingReportingOverflow(UInt64(interval.nanoseconds))
            return overflow ? .distantFuture : Instant(nanoseconds: sum)
        }
        let (difference, underflow) = a.nanoseconds.subtractingReportingOverflow(interval.nanoseconds.magnitude)
        return underflow ? .zero : Instant(nanoseconds: difference)
    }

    /// How long after `b` this instant is; negative if it is before.
    package static func - (a: Instant, b: Instant) -> Interval {
        if a.nanoseconds >= b.nanoseconds {
            return Interval(nanoseconds: Int64(clamping: a.nanoseconds - b.nanoseconds))
        }
        return Interval(nanoseconds: -Int64(clamping: b.nanoseconds - a.nanoseconds))
    }
}

/// A length of time in nanoseconds; may be negative.
package struct Interval: Hashable, Comparable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static let zero = Interval(nanoseconds: 0)
    package static func seconds(_ count: Int) -> Interval { Interval(nanoseconds: Int64(count) &* 1_000_000_000) }
    package static func milliseconds(_ count: Int) -> Interval { Interval(nanoseconds: Int64(count) &* 1_000_000) }

    /// The same length in seconds, for messages and ratios.
    package var inSeconds: Double { Double(nanoseconds) / 1e9 }

    package static func < (a: Interval, b: Interval) -> Bool { a.nanoseconds < b.nanoseconds }
    package static func + (a: Interval, b: Interval) -> Interval {
        let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
        return Interval(nanoseconds: overflow ? (a.nanoseconds < 0 ? .min : .max) : sum)
    }
    package static func * (a: Interval, factor: Int) -> Interval {
        let (product, overflow) = a.nanoseconds.multipliedReportingOverflow(by: Int64(factor))
        return Interval(nanoseconds: overflow ? ((a.nanoseconds < 0) == (factor < 0) ? .max : .min) : product)
    }
}
