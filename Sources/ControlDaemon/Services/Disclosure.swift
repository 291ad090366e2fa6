import ControlAPI

/// What of a configuration a caller is shown: of somebody else's not what only its owner may know.
struct Disclosure: Sendable {
    private let caller: Caller
    /// What the owner alone is shown of a provider's configuration, by provider.
    private let ownerKeys: [String: [String]]

    init(to caller: Caller, _ catalogue: ProviderCatalogue) async {
        self.caller = caller
        let installed = caller.isRoot ? [] : await catalogue.installed()
        ownerKeys = Dictionary(installed.map { ($0.identifier, $0.ownerKeys ?? []) }, uniquingKeysWith: { $1 })
    }

    /// The configuration as the caller may know it.
    func shown(_ configuration: Configuration) -> Configuration {
        guard let hidden = hidden(in: configuration) else { return configuration }
        var shown = configuration
        for key in hidden { shown.provider?.configuration[key] = nil }
        return shown
    }

    /// What the caller wrote, with what it was not shown and so left out.
    func completed(_ configuration: Configuration, from stored: Configuration?) -> Configuration {
        guard let stored, let old = stored.provider, let new = configuration.provider, old.identifier == new.identifier,
            let hidden = hidden(in: stored)
        else { return configuration }
        var completed = configuration
        for key in hidden where new.configuration[key] == nil {
            completed.provider?.configuration[key] = old.configuration[key]
        }
        return completed
    }

    private func hidden(in configuration: Configuration) -> [String]? {
        guard !caller.isRoot, caller.user != configuration.owner.user, let provider = configuration.provider else {
            return nil
        }
        // Of a provider that isn't installed nobody can say what is to be kept back.
        return ownerKeys[provider.identifier] ?? provider.configuration.object.map { Array($0.keys) } ?? []
    }
}
