import CShims
import Glibc
package import NetworkTypes

/// A timerfd(2) on `CLOCK_BOOTTIME`, which counts while the machine sleeps: readable once its time has come.
package final class TimerDescriptor: Sendable {
    package let descriptor: SharedDescriptor

    package init() throws(SystemError) {
        descriptor = SharedDescriptor(
            OwnedDescriptor(adopting: try checkShim("timerfd_create") { shim_timerfd_create() })
        )
    }

    /// Arms the timer for one instant, in place of an earlier one; nil or `distantFuture` disarms it.
    ///
    /// An instant that has passed fires at once.
    package func set(_ deadline: Instant?) throws(SystemError) {
        let raw = descriptor.raw
        // 0 would disarm (timerfd_settime(2)); the clock's first nanosecond has passed for every program.
        let nanoseconds = deadline.map { $0 == .distantFuture ? 0 : max($0.nanoseconds, 1) } ?? 0
        try checkShim("timerfd_settime") { shim_timerfd_set(raw, nanoseconds) }
    }

    /// Takes the expiry.
    ///
    /// - Returns: false where the timer has not fired, or was set anew since.
    package func consume() -> Bool {
        var count: UInt64 = 0
        while true {
            let result = unsafe read(descriptor.raw, &count, 8)
            if result == 8 { return true }
            if result >= 0 || errno != EINTR { return false }
        }
    }
}
