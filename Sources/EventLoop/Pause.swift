import Dispatch
import LinuxSystem
package import NetworkTypes
import Synchronization

/// Waits in a task, as `Task.sleep` does, without the global queues (see `QuietTasks`).
package enum Pause {
    private static let queue = DispatchQueue(label: "pause")

    /// Returns after the interval, in which the machine's sleep counts.
    ///
    /// - Throws: `CancellationError`, at once, when the task is cancelled; `SystemError` where no timer can be had.
    package static func sleep(for interval: Interval) async throws {
        let place = Place()
        let timer = try BootTimer(on: queue) { @Sendable in place.end(isOver: true) }
        let isOver = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                place.wait(continuation)
                timer.set(.now() + interval)
            }
        } onCancel: {
            place.end(isOver: false)
        }
        timer.cancel()
        guard isOver else { throw CancellationError() }
    }

    /// Where a task waits; whoever ends it first decides.
    private final class Place: Sendable {
        private enum State {
            case new
            case waiting(CheckedContinuation<Bool, Never>)
            case over(Bool)
        }

        private let state = Mutex(State.new)

        func wait(_ continuation: CheckedContinuation<Bool, Never>) {
            let answer: Bool? = state.withLock { state in
                if case .over(let isOver) = state { return isOver }
                state = .waiting(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }

        func end(isOver: Bool) {
            let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
                if case .over = state { return nil }
                defer { state = .over(isOver) }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            waiting?.resume(returning: isOver)
        }
    }
}
