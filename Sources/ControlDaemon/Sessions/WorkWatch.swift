import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import Synchronization

/// Tells that packets wait for a provider, by tunneld's duplicates of the provider's descriptors.
///
/// While nothing waits it costs no wake-up: the kernel tells of the first packet (EPOLLONESHOT) and then keeps quiet. `pause`
/// later it is asked whether a packet waits still, or again; if none does, it tells of the next one. So a tunnel under
/// full load wakes tunneld about three times a second, however many packets there are, and one that keeps up with its
/// traffic is seldom looked at any closer.
final class WorkWatch: Sendable {
    /// How long a packet may wait before anybody asks why.
    static let pause = Interval.seconds(1)

    private let epoll: Epoll
    private let descriptors: [SharedDescriptor]
    private let source: DescriptorSource
    private let timer: BootTimer
    private let isPaused: Mutex<Bool>

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - handler: called on `queue` where a packet waits; then no more until `resume`.
    /// - Throws: where the process has no descriptor left for it.
    init(
        _ descriptors: [SharedDescriptor],
        on queue: DispatchQueue,
        handler: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let epoll = try Epoll()
        let watched = epoll.descriptor
        for descriptor in descriptors { try epoll.add(descriptor.raw, for: Self.events, token: 0) }
        let reference = Reference()
        source = DescriptorSource(watched, .readable, canHangUp: false, on: queue) { @Sendable in
            reference.watch?.workCame()
        }
        timer = try BootTimer(on: queue) { @Sendable in
            guard let watch = reference.watch else { return }
            if watch.workWaits() { handler() } else { watch.isPaused.withLock { $0 = false } }
        }
        self.epoll = epoll
        self.descriptors = descriptors
        isPaused = Mutex(false)
        reference.value.withLock { $0.value = self }
        source.resume()
    }

    /// Goes on after the handler was called.
    func resume() {
        isPaused.withLock { $0 = true }
        timer.set(.now() + Self.pause)
    }

    /// Ends for good.
    func cancel() {
        source.cancel()
        timer.cancel()
    }

    private static let events: Epoll.Events = [.readable, .oneShot]

    private func workCame() {
        // Taken in any case, or the source would be called again and again.
        guard takeEvents() else { return }
        let isNew = isPaused.withLock { !exchange(&$0, with: true) }
        if isNew { timer.set(.now() + Self.pause) }
    }

    /// Asks for all descriptors anew: those that are readable already tell it at once.
    private func workWaits() -> Bool {
        // Fails only for arguments that are wrong (epoll_ctl(2)).
        for descriptor in descriptors { try? epoll.modify(descriptor.raw, for: Self.events, token: 0) }
        return takeEvents()
    }

    private func takeEvents() -> Bool {
        let buffer = EpollBuffer(capacity: max(1, descriptors.count))
        return ((try? epoll.wait(into: buffer, milliseconds: 0)) ?? 0) > 0
    }

    /// The handlers need the watch, and the watch the handlers' sources.
    private final class Reference: Sendable {
        struct Weak {
            weak var value: WorkWatch?
        }

        let value = Mutex(Weak())
        var watch: WorkWatch? { value.withLock { $0.value } }
    }
}
