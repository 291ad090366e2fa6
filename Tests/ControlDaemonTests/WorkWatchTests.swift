import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import TestSupport
import Testing

@testable import ControlDaemon

@Suite(.timeLimit(.minutes(1))) struct WorkWatchTests {
    private let queue = DispatchQueue(label: "test")
    private let called = DispatchSemaphore(value: 0)

    @Test func `a packet that waits is told after the pause, and no more until the watch goes on`() throws {
        let event = try EventDescriptor()
        let called = called
        let watch = try WorkWatch([event.descriptor], on: queue) { @Sendable in called.signal() }
        defer { watch.cancel() }
        let start = Instant.now()
        event.signal()
        #expect(called.arrives())
        #expect(Instant.now() - start >= WorkWatch.pause)
        #expect(called.wait(timeout: .now() + .milliseconds(1500)) == .timedOut)
        watch.resume()
        #expect(called.arrives(), "it waits still")
    }

    @Test func `a packet that was taken in time is not told, and the next one is looked at again`() throws {
        let event = try EventDescriptor()
        let called = called
        let watch = try WorkWatch([event.descriptor], on: queue) { @Sendable in called.signal() }
        defer { watch.cancel() }
        event.signal()
        usleep(200_000)
        event.consume()
        #expect(called.wait(timeout: .now() + .milliseconds(1500)) == .timedOut)
        event.signal()
        #expect(called.arrives())
    }

    @Test func `under load it looks once a pause, whatever comes`() throws {
        let events = [try EventDescriptor(), try EventDescriptor()]
        let called = called
        let watch = try WorkWatch(events.map(\.descriptor), on: queue) { @Sendable in called.signal() }
        defer { watch.cancel() }
        let start = Instant.now()
        var told = 0
        while Instant.now() - start < .milliseconds(3500) {
            for event in events { event.signal() }
            usleep(2000)
            for event in events { event.consume() }
            if called.wait(timeout: .now()) == .success {
                told += 1
                watch.resume()
            }
        }
        #expect(told <= 3)
    }
}
