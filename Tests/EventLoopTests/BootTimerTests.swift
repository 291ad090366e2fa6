import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import TestSupport
import Testing

@Suite struct BootTimerTests {
    private let queue = DispatchQueue(label: "test")

    @Test func `a timer fires once at its instant, and not before`() throws {
        let fired = DispatchSemaphore(value: 0)
        let timer = try BootTimer(on: queue) { @Sendable in fired.signal() }
        let deadline = Instant.now() + .milliseconds(30)
        timer.set(deadline)
        #expect(fired.arrives())
        #expect(Instant.now() >= deadline)
        #expect(fired.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
    }

    @Test func `an instant that has passed fires at once, also the clock's zero`() throws {
        let fired = DispatchSemaphore(value: 0)
        let timer = try BootTimer(on: queue) { @Sendable in fired.signal() }
        timer.set(.zero)
        #expect(fired.arrives())
        timer.set(.zero)
        #expect(fired.arrives())
    }

    @Test func `a later setting takes the place of an earlier one`() throws {
        let fired = DispatchSemaphore(value: 0)
        let timer = try BootTimer(on: queue) { @Sendable in fired.signal() }
        timer.set(.now() + .milliseconds(20))
        timer.set(nil)
        #expect(fired.wait(timeout: .now() + .milliseconds(60)) == .timedOut)
        timer.set(.now() + .milliseconds(20))
        timer.set(.distantFuture)
        #expect(fired.wait(timeout: .now() + .milliseconds(60)) == .timedOut)
    }

    @Test func `a timer set anew between firing and its handler waits for the new instant`() throws {
        let fired = DispatchSemaphore(value: 0)
        let timer = try BootTimer(on: queue) { @Sendable in fired.signal() }
        let deadline = Instant.now() + .milliseconds(80)
        queue.sync {
            timer.set(.zero)
            while Instant.now() < deadline + .milliseconds(-60) {}
            timer.set(deadline)
        }
        #expect(fired.arrives())
        #expect(Instant.now() >= deadline)
    }
}
