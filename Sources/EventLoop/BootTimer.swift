package import Dispatch
package import LinuxSystem
package import NetworkTypes
import Synchronization

/// Calls a handler on a queue once, at an instant of `CLOCK_BOOTTIME`.
///
/// Dispatch's own timers don't count while the machine sleeps; this one fires on waking if its time came meanwhile.
/// A timer that isn't armed costs no wake-up.
package final class BootTimer: Sendable {
    private let timer: TimerDescriptor
    private let source: DescriptorSource
    /// What the kernel was told last, so that setting the same again costs no call; nil when disarmed or fired.
    private let armed: ArmedDeadline

    package init(on queue: DispatchQueue, handler: @escaping @Sendable () -> Void) throws(SystemError) {
        let timer = try TimerDescriptor()
        let armed = ArmedDeadline()
        source = DescriptorSource(timer.descriptor, .readable, canHangUp: false, on: queue) { @Sendable in
            // Nothing to take: the timer was set anew between its firing and this call.
            guard
                armed.value.withLock({ deadline in
                    guard timer.consume() else { return false }
                    deadline = nil
                    return true
                })
            else { return }
            handler()
        }
        self.timer = timer
        self.armed = armed
        source.resume()
    }

    /// Fires at `deadline`, in place of any earlier setting; at once if it has passed, never if it is nil.
    package func set(_ deadline: Instant?) {
        armed.value.withLock { armed in
            guard armed != deadline else { return }
            armed = deadline
            // Every argument is valid, so the call can't fail (timerfd_settime(2), ERRORS).
            do { try timer.set(deadline) } catch { preconditionFailure("\(error)") }
        }
    }

    /// Ends for good.
    package func cancel() { source.cancel() }
}

private final class ArmedDeadline: Sendable {
    let value = Mutex<Instant?>(nil)
}
