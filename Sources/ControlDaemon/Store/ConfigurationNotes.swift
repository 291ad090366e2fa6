import ControlAPI

/// What a person should know of a configuration that is valid.
enum ConfigurationNotes {
    /// Settings that are stored and not in force yet, a sentence each: a promise that isn't kept is told wherever the
    /// tunnel is shown.
    static func notInForce(_ configuration: Configuration) -> [String] {
        var notes: [String] = []
        if configuration.includeAllNetworks {
            notes.append(
                "includeAllNetworks is NOT in force: this version of tunneld doesn't block traffic outside of the tunnel, "
                    + "so it can leak whenever the tunnel isn't up."
            )
        }
        let others = [
            ("enforceRoutes", configuration.enforceRoutes, "other routes can win over the tunnel's"),
            ("persistentBlock", configuration.persistentBlock, "nothing is blocked while the tunnel is down"),
            ("excludeLocalNetworks", configuration.excludeLocalNetworks, "local networks are treated as all others"),
            ("disconnectOnSleep", configuration.disconnectOnSleep, "the tunnel goes on when the machine wakes up"),
            (
                "onDemand", configuration.onDemand.enabled && !configuration.onDemand.rules.isEmpty,
                "its rules start and stop nothing"
            ),
        ]
        for (key, isSet, effect) in others where isSet {
            notes.append("\(key) is not in force: this version of tunneld doesn't do it yet, so \(effect).")
        }
        return notes
    }

    /// What a save answers beside its generation.
    static func onSave(_ configuration: Configuration) -> [String] {
        var notes = notInForce(configuration)
        if configuration.onDemand.enabled, configuration.onDemand.rules.isEmpty {
            notes.append("onDemand is switched on and has no rules, so it starts nothing.")
        }
        if configuration.startAtBoot, !configuration.enabled {
            notes.append("startAtBoot does nothing as long as the configuration is disabled.")
        }
        return notes
    }
}
