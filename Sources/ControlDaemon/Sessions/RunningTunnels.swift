import Synchronization

/// Which tunnels run, for whoever needs to know whether any does.
///
/// A tunnel runs from the acceptance of its start until everything of it is taken back.
final class RunningTunnels: Sendable {
    typealias Handler = @Sendable (_ areRunning: Bool) -> Void

    private struct State {
        var running: Set<String> = []
        var handler: Handler?
    }

    private let state = Mutex(State())

    /// Takes note of a tunnel, which may say the same again.
    func note(_ identifier: String, isRunning: Bool) {
        // Told under the lock, so that the order is that of the changes.
        state.withLock { state in
            if isRunning {
                if state.running.insert(identifier).inserted { state.handler?(true) }
            } else if state.running.remove(identifier) != nil, state.running.isEmpty {
                state.handler?(false)
            }
        }
    }

    /// Has the handler called with each tunnel that starts (`true`), also for those that run now, and once the last one has
    /// ended (`false`).
    ///
    /// - Parameter handler: must not wait for anything.
    func observe(_ handler: @escaping Handler) {
        state.withLock { state in
            state.handler = handler
            if !state.running.isEmpty { handler(true) }
        }
    }
}
