import Dispatch
import Glibc

/// The longest that a test waits for what comes by itself, in milliseconds: no machine is too busy for it.
///
/// A bound that is itself the subject is asserted by its test, at five times its value.
package let patienceMilliseconds: Int32 = 60_000

/// Blocks the thread until a state that another thread or process brings about; false if it never came.
package func blockUntil(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .milliseconds(Int64(patienceMilliseconds))
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        usleep(1000)
    }
    return true
}

/// Waits for a state that another thread or process brings about; false if it never came.
package func eventually(_ condition: () async -> Bool) async -> Bool {
    let end = ContinuousClock.now + .milliseconds(Int64(patienceMilliseconds))
    while await !condition() {
        guard ContinuousClock.now < end else { return false }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return true
}

/// Waits until a descriptor is ready (`POLLIN`, `POLLOUT`); false if it never was.
package func waitUntilReady(_ descriptor: Int32, for events: Int32 = POLLIN) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    var result: Int32
    repeat { result = unsafe poll(&entry, 1, patienceMilliseconds) } while result < 0 && errno == EINTR
    return result > 0
}

extension DispatchSemaphore {
    /// Waits for a signal; false if none ever came.
    package func arrives() -> Bool { wait(timeout: .now() + .milliseconds(Int(patienceMilliseconds))) == .success }
}
