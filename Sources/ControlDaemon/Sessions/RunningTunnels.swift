import Synchronization

/// Which tunnels run, for whoever needs to know whether any does.
///
/// A tunnel runs from the acceptance of its start until everything of it is taken back.
final class RunningTunnels: Sendable {
    typealias Handler = @Sendable (_ areRunning: Bool) -> Void

    /// What others need to know of one.
    struct Running: Hashable {
        var name: String
        /// The name of its interface; nil before it has one.
        var interface: String?
    }

    private struct State {
        var running: Set<String> = []
        var tunnels: [String: Running] = [:]
        var handler: Handler?
    }

    private let state = Mutex(State())

    /// Takes note of a tunnel, which may say the same again.
    func note(_ identifier: String, isRunning: Bool) {
        // Told under the lock, so that the order is that of the changes.
        state.withLock { state in
            if isRunning {
                if state.running.insert(identifier).inserted { state.handler?(true) }
            } else {
                state.tunnels[identifier] = nil
                if state.running.remove(identifier) != nil, state.running.isEmpty { state.handler?(false) }
            }
        }
    }

    /// Takes note of what one is called now.
    func note(_ identifier: String, _ tunnel: Running) { state.withLock { $0.tunnels[identifier] = tunnel } }

    /// The tunnel that has this interface; nil for none.
    func tunnel(withInterface name: String) -> (identifier: String, name: String)? {
        state.withLock { $0.tunnels.first { $0.value.interface == name }.map { ($0.key, $0.value.name) } }
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
