import Glibc
package import NetworkTypes

extension Instant {
    /// Now, by `CLOCK_BOOTTIME`.
    package static func now() -> Instant { Instant(nanoseconds: read(CLOCK_BOOTTIME)) }
}

/// The wall clock: seconds since 1970 in UTC and the nanoseconds beyond.
package struct WallClockTime: Hashable, Comparable, Sendable {
    package let seconds: Int64
    package let nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    package static func now() -> WallClockTime {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallClockTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
    }

    package static func < (a: WallClockTime, b: WallClockTime) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}

private func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}
