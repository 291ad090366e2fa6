import ControlAPI

/// What a person should know of a configuration that is valid.
enum ConfigurationNotes {
    /// Settings that are stored and not in force yet, a sentence each: a promise that isn't kept is told wherever the
    /// tunnel is shown.
    static func notInForce(_ configuration: Configuration) -> [String] {
        var notes: [String] = []
        if configuration.persistentBlock, !configuration.includeAllNetworks {
            notes.append("persistentBlock has no effect without includeAllNetworks: nothing is blocked.")
        }
        if configuration.includeAllNetworks,
            configuration.provider?.configuration["excludedRoutes"]?.array?.isEmpty == false
        {
            notes.append(
                "excludedRoutes have no effect with includeAllNetworks: everything goes into the tunnel, and nothing leaves "
                    + "outside of it. excludeLocalNetworks keeps the attached networks reachable."
            )
        }
        if configuration.onDemand.enabled, !configuration.onDemand.rules.isEmpty {
            notes.append(
                "onDemand is not in force: this version of tunneld doesn't do it yet, so its rules start and stop nothing."
            )
        }
        return notes
    }

    /// What a running tunnel of WireGuard lacks; nil for those of other providers.
    static func onPeers(_ configuration: Configuration, _ state: ProviderState?) -> String? {
        guard isWireGuard(configuration), let state, state.phase == .ready, state.peers.isEmpty else { return nil }
        if configuration.provider?.configuration["peers"]?.array?.isEmpty == false {
            let name = configuration.name
            return "It has no peers any more: they were removed with `wg set`, for this session alone. "
                + "`\(TunnelctlCommand.text("down", name))` and `\(TunnelctlCommand.text("up", name))` bring those of the "
                + "configuration back."
        }
        let edit = TunnelctlCommand.text("edit", configuration.name, options: ["--conf"])
        return "It has no peers yet, so nobody can connect and nothing is sent. `\(edit)` adds one: a [Peer] with its "
            + "PublicKey and AllowedIPs."
    }

    private static func isWireGuard(_ configuration: Configuration) -> Bool {
        configuration.provider?.identifier == "org.tunneld.wireguard"
    }

    /// WireGuard calls its peers' endpoints, whatever the server's address is said to be.
    private static func onServerAddress(_ configuration: Configuration, _ previous: Configuration?) -> String? {
        guard isWireGuard(configuration), let address = configuration.serverAddress,
            address != previous?.serverAddress
        else { return nil }
        let peers = configuration.provider?.configuration["peers"]?.array ?? []
        guard !peers.contains(where: { $0["endpoint"]?.string == address }) else { return nil }
        let set = TunnelctlCommand.text(
            "set",
            configuration.name,
            "provider.configuration.peers[0].endpoint=\(address.contains(":") ? address : "\(address):51820")"
        )
        return "serverAddress is only shown: WireGuard calls the endpoints of its peers, which are unchanged. `\(set)` "
            + "changes the first one's."
    }

    /// What a save answers beside its generation.
    ///
    /// - Parameter previous: what was stored before; nil for one that wasn't.
    static func onSave(_ configuration: Configuration, previous: Configuration? = nil) -> [String] {
        var notes = notInForce(configuration)
        if configuration.onDemand.enabled, configuration.onDemand.rules.isEmpty {
            notes.append("onDemand is switched on and has no rules, so it starts nothing.")
        }
        if let note = onServerAddress(configuration, previous) { notes.append(note) }
        if configuration.startAtBoot, !configuration.enabled {
            notes.append("startAtBoot does nothing as long as the configuration is disabled.")
        }
        return notes
    }
}
