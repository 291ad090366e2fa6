import Dispatch
import LinuxSystem
import Synchronization
import VarlinkCore

/// The way from responders on any thread to one connection on the server's queue; knows how much is on it.
///
/// One for each connection; outlives it harmlessly.
final class ReplyOutlet: Sendable {
    struct Delivery: Sendable {
        /// Nil where only the end of a call is told.
        let message: [UInt8]?
        let descriptors: [SharedDescriptor]
        let isLast: Bool
    }

    enum Event: Sendable {
        case delivery(Delivery)
        /// The caller doesn't read: more waits than the limit.
        case overflow
    }

    private struct Waiter {
        let level: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var isOpen = true
        var queuedBytes = 0
        var nextToken: UInt64 = 0
        var closeHandlers: [@Sendable () -> Void] = []
        var waiters: [UInt64: Waiter] = [:]
    }

    private let limit: Int
    /// At or below this much, `drained` returns.
    private let lowWater: Int
    private let queue: DispatchQueue
    private let receiver: @Sendable (Event) -> Void
    private let state = Mutex(State())

    /// - Parameter receiver: is called on `queue`.
    init(limit: Int, lowWater: Int, queue: DispatchQueue, receiver: @escaping @Sendable (Event) -> Void) {
        self.limit = limit
        self.lowWater = lowWater
        self.queue = queue
        self.receiver = receiver
    }

    var queuedBytes: Int { state.withLock { $0.queuedBytes } }
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// False if the caller is gone.
    @discardableResult
    func deliver(_ message: [UInt8]?, _ descriptors: [SharedDescriptor], isLast: Bool) -> Bool {
        let event: Event? = state.withLock { state in
            guard state.isOpen else {
                // Calls that were read before the caller went are still carried out, one after the other.
                return isLast ? .delivery(Delivery(message: nil, descriptors: [], isLast: true)) : nil
            }
            guard reserve(message.map { $0.count + 1 } ?? 0, in: &state) else { return .overflow }
            return .delivery(Delivery(message: message, descriptors: descriptors, isLast: isLast))
        }
        guard let event else { return false }
        queue.async { @Sendable [receiver] in receiver(event) }
        return true
    }

    /// Counts a message that the server itself adds; false if that is more than the limit.
    func reserve(_ size: Int) -> Bool { state.withLock { reserve(size, in: &$0) } }

    private func reserve(_ size: Int, in state: inout State) -> Bool {
        guard state.queuedBytes + size <= limit else {
            state.isOpen = false
            return false
        }
        state.queuedBytes += size
        return true
    }

    /// Bytes have gone to the kernel.
    func sent(_ count: Int) {
        let waiters = state.withLock { state -> [Waiter] in
            state.queuedBytes -= count
            guard !state.waiters.isEmpty else { return [] }
            let left = state.queuedBytes
            let done = state.waiters.filter { left <= $0.value.level }
            for token in done.keys { state.waiters[token] = nil }
            return Array(done.values)
        }
        for waiter in waiters { waiter.continuation.resume() }
    }

    /// The caller is gone.
    func close() {
        let (handlers, waiters) = state.withLock { state in
            state.isOpen = false
            defer {
                state.closeHandlers = []
                state.waiters = [:]
            }
            return (state.closeHandlers, Array(state.waiters.values))
        }
        for handler in handlers { handler() }
        for waiter in waiters { waiter.continuation.resume() }
    }

    func onClose(_ body: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            if state.isOpen { state.closeHandlers.append(body) }
            return !state.isOpen
        }
        if isGone { body() }
    }

    /// The call has ended: its handlers must not outlive it.
    func forgetCloseHandlers() { state.withLock { $0.closeHandlers = [] } }

    /// - Parameter level: bytes that may still wait; nil: `lowWater`.
    func drained(to level: Int? = nil) async {
        let level = level ?? lowWater
        let token = state.withLock { state in
            state.nextToken += 1
            return state.nextToken
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if Task.isCancelled || !state.isOpen || state.queuedBytes <= level { return true }
                    state.waiters[token] = Waiter(level: level, continuation: continuation)
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: token) }?.continuation.resume()
        }
    }
}
