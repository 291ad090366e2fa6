import ControlAPI
import HostNetwork
import Synchronization

/// Which tunnels run, for whoever needs to know whether any does.
///
/// A tunnel runs from the acceptance of its start until everything of it is taken back.
final class RunningTunnels: Sendable {
    typealias Handler = @Sendable (_ areRunning: Bool) -> Void

    /// What others need to know of one.
    struct Running: Hashable {
        var name: String
        /// Nil before it has one.
        var interface: InterfaceIdentity?
        /// The MTU that was put in force; nil before.
        var mtu: Int?
        /// Where its outer packets go.
        var endpoints: Set<String>

        /// Whether packets can go through it.
        var isReady: Bool { mtu != nil && interface != nil }

        init(_ record: SessionRecord) {
            name = record.configuration.name
            interface = record.network.interface
            mtu = record.applied?.mtu
            endpoints = Set(record.endpoints ?? [])
        }
    }

    private struct State {
        var running: Set<String> = []
        var tunnels: [String: Running] = [:]
        var changeHandler: (@Sendable (_ identifier: String) -> Void)?
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
                if state.tunnels.removeValue(forKey: identifier) != nil { state.changeHandler?(identifier) }
                if state.running.remove(identifier) != nil, state.running.isEmpty { state.handler?(false) }
            }
        }
    }

    /// Takes note of what one is now.
    func note(_ identifier: String, _ tunnel: Running) {
        state.withLock { state in
            guard state.tunnels.updateValue(tunnel, forKey: identifier) != tunnel else { return }
            state.changeHandler?(identifier)
        }
    }

    /// Where the outer packets of all other tunnels go.
    func endpoints(besides identifier: String) -> Set<String> {
        state.withLock { state in
            state.tunnels.reduce(into: []) { if $1.key != identifier { $0.formUnion($1.value.endpoints) } }
        }
    }

    func tunnel(_ identifier: String) -> Running? { state.withLock { $0.tunnels[identifier] } }

    /// Has the handler called with each tunnel of which something else is to be known now.
    ///
    /// - Parameter handler: must not wait for anything.
    func onChange(_ handler: @escaping @Sendable (_ identifier: String) -> Void) {
        state.withLock { $0.changeHandler = handler }
    }

    /// The tunnel that has this interface; nil for none.
    func tunnel(withInterface name: String) -> (identifier: String, name: String)? {
        state.withLock { $0.tunnels.first { $0.value.interface?.name == name }.map { ($0.key, $0.value.name) } }
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
