import Dispatch
import EventLoop
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@Suite struct DescriptorSourceTests {
    @Test func `a readable descriptor calls the handler on the queue, and only while resumed`() throws {
        let executor = QueueExecutor(label: "test")
        let event = try EventDescriptor()
        let called = DispatchSemaphore(value: 0)
        let source = DescriptorSource(event.descriptor, .readable, on: executor.queue) { @Sendable in
            executor.checkIsolated()
            event.consume()
            called.signal()
        }
        event.signal()
        #expect(called.wait(timeout: .now() + .milliseconds(20)) == .timedOut)
        source.resume()
        #expect(called.arrives())
        executor.queue.sync { source.suspend() }
        event.signal()
        #expect(called.wait(timeout: .now() + .milliseconds(20)) == .timedOut)
        source.resume()
        #expect(called.arrives())
        executor.queue.sync { source.cancel() }
        event.signal()
        #expect(called.wait(timeout: .now() + .milliseconds(20)) == .timedOut)
    }

    @Test(arguments: [DescriptorSource.Readiness.readable, .writable])
    func `a descriptor whose other end is gone stays watched`(readiness: DescriptorSource.Readiness) throws {
        let (near, far) = try UnixSocket.pair(.stream)
        let called = DispatchSemaphore(value: 0)
        let source = DescriptorSource(near, readiness, on: DispatchQueue(label: "test")) { @Sendable in called.signal()
        }
        UnixSocket.shutDown(far.raw)
        source.resume()
        // Dispatch itself tells a hang-up once, and lets go of the descriptor on the wrong queue then.
        for _ in 0..<10 { #expect(called.arrives()) }
        source.cancel()
    }

    @Test func `a source that is let go while suspended frees its handler and its descriptor`() throws {
        let freed = DispatchSemaphore(value: 0)
        do {
            let witness = Witness(freed)
            let event = try EventDescriptor()
            let source = DescriptorSource(event.descriptor, .readable, on: DispatchQueue(label: "test")) { @Sendable in
                withExtendedLifetime(witness) {}
            }
            source.resume()
            source.suspend()
        }
        #expect(freed.arrives())
    }

    @Test func `an actor's state is entered from its own queue without a hop`() async throws {
        let counter = try Counter()
        counter.event.signal()
        #expect(await counter.next() == 1)
        counter.event.signal()
        #expect(await counter.next() == 2)
    }
}

private final class Witness: Sendable {
    private let freed: DispatchSemaphore
    init(_ freed: DispatchSemaphore) { self.freed = freed }
    deinit { freed.signal() }
}

private actor Counter {
    nonisolated let executor = QueueExecutor(label: "counter")
    nonisolated let event: EventDescriptor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private var count = 0
    private var waiter: CheckedContinuation<Int, Never>?
    private var source: DescriptorSource?

    init() throws { event = try EventDescriptor() }

    func next() async -> Int {
        if source == nil {
            let source = DescriptorSource(event.descriptor, .readable, on: executor.queue) { @Sendable [weak self] in
                self?.assumeIsolated { $0.serve() }
            }
            source.resume()
            self.source = source
        }
        return await withCheckedContinuation { waiter = $0 }
    }

    private func serve() {
        guard let waiter, event.consume() else { return }
        self.waiter = nil
        count += 1
        waiter.resume(returning: count)
    }
}
