import ControlAPI

/// Tells monitors and running tunnels of each change in the store.
struct ConfigurationAnnouncer: Sendable {
    let tunnels: Tunnels
    let hub: EventHub

    /// Called in the order of the changes.
    func announce(_ change: ConfigurationStore.Change) {
        guard let configuration = change.current ?? change.previous else { return }
        let isRemoval = change.current == nil
        hub.publishConfiguration(configuration, isRemoval: isRemoval)
        guard !isRemoval else { return }
        let isSwitchedOff = change.previous?.enabled == true && !configuration.enabled
        Task {
            guard let tunnel = await tunnels.existing(configuration.identifier) else { return }
            if isSwitchedOff {
                await tunnel.stop(session: nil, reason: "The configuration was disabled.")
            } else {
                await tunnel.configurationChanged()
            }
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
