import ControlAPI
import Synchronization

/// Tells monitors and running tunnels of each change in the store, and has the block follow it.
final class ConfigurationAnnouncer: Sendable {
    private let tunnels: Tunnels
    private let hub: EventHub
    /// The last change that the block follows: one that takes another's place comes before the other's end.
    private let last = Mutex<Task<Void, Never>?>(nil)

    init(tunnels: Tunnels, hub: EventHub) {
        self.tunnels = tunnels
        self.hub = hub
    }

    /// Called in the order of the changes.
    func announce(_ change: ConfigurationStore.Change) {
        guard let configuration = change.current ?? change.previous else { return }
        let isRemoval = change.current == nil
        hub.publishConfiguration(configuration, isRemoval: isRemoval)
        last.withLock { last in
            let before = last
            last = Task {
                await before?.value
                await self.follow(change, configuration)
            }
        }
    }

    /// Returns once the block is what all changes that were announced so far ask for.
    func settled() async { await last.withLock { $0 }?.value }

    private func follow(_ change: ConfigurationStore.Change, _ configuration: Configuration) async {
        let step = await tunnels.blocks.step(after: change)
        if change.current == nil {
            if let tunnel = await tunnels.existing(configuration.identifier) { return await tunnel.carryOut(step) }
            if case .hold = step { return await tunnels.tunnel(of: configuration).carryOut(step) }
            return await tunnels.blocks.release(configuration.identifier)
        }
        if step != .none { await tunnels.tunnel(of: configuration).carryOut(step) }
        guard let tunnel = await tunnels.existing(configuration.identifier) else { return }
        if change.previous?.enabled == true, !configuration.enabled {
            await tunnel.stop(session: nil, reason: "The configuration was disabled.")
        } else {
            await tunnel.tighten(change.current ?? configuration)
            // It may take long, and has an order of its own.
            Task { await tunnel.configurationChanged() }
        }
    }
}

extension EventHub {
    /// Tells that a configuration was saved or removed; its tunnel's state stays what it was told to be.
    func publishConfiguration(_ configuration: Configuration, isRemoval: Bool) {
        publish(.configuration, configuration.identifier, snapshot: nil, at: .now()) { before in
            var told =
                before ?? Present(owner: configuration.owner, name: configuration.name, status: .disconnected)
            told.owner = configuration.owner
            told.name = configuration.name
            if isRemoval {
                told.status = .invalid
                told.reason = "The configuration was removed."
            }
            return (told, isKept: !isRemoval)
        }
    }
}
