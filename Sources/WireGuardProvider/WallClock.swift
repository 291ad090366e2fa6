import ControlAPI
import LinuxSystem
import NetworkTypes
import WireGuardCore

/// Both clocks at one moment: what happened by the boot clock is told by the wall clock as it is set now.
struct WallClock {
    let now: Instant
    /// Nanoseconds since 1970.
    let wall: UInt64

    init(now: Instant, wall: WallClockTime) {
        self.now = now
        self.wall = UInt64(max(0, wall.seconds)) &* 1_000_000_000 &+ UInt64(wall.nanoseconds)
    }

    static func read() -> WallClock { WallClock(now: .now(), wall: .now()) }

    /// The wall clock as it goes into an initiation.
    var label: WireGuardCore.Timestamp {
        WireGuardCore.Timestamp(
            wallSeconds: Int64(clamping: wall / 1_000_000_000),
            nanoseconds: UInt32(clamping: wall % 1_000_000_000)
        )
    }

    /// Nanoseconds since 1970 of an instant.
    func nanoseconds(at instant: Instant) -> UInt64 {
        let age = max(0, (now - instant).nanoseconds)
        return wall > UInt64(age) ? wall - UInt64(age) : 0
    }

    /// When an instant to come will be.
    func timestamp(ahead instant: Instant) -> ControlAPI.Timestamp {
        let time = wall &+ UInt64(max(0, (instant - now).nanoseconds))
        return ControlAPI.Timestamp(milliseconds: Int64(clamping: time / 1_000_000))
    }

    func timestamp(at instant: Instant) -> ControlAPI.Timestamp {
        ControlAPI.Timestamp(milliseconds: Int64(clamping: nanoseconds(at: instant) / 1_000_000))
    }
}
