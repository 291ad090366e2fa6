import ControlAPI
import WireGuardConfig

/// How configurations of WireGuard name their provider.
enum WireGuardProviderName {
    static let identifier = "org.tunneld.wireguard"
}

extension Configuration {
    /// WireGuard's part of the configuration; nil where another provider's is stored.
    var wireGuard: WireGuardConfiguration? {
        guard let provider, provider.identifier == WireGuardProviderName.identifier else { return nil }
        return try? WireGuardConfiguration(json: provider.configuration)
    }

    /// The configuration with what looks like a key hidden in its hooks: nothing else of it holds a secret.
    var withoutKeysInHooks: Configuration {
        get throws {
            guard var shown = wireGuard, !shown.hooksWithKeys.isEmpty else { return self }
            shown.hooks = shown.hooks.map { Hook($0.event, $0.shownCommand(in: shown)) ?? $0 }
            var copy = self
            copy.provider?.configuration = try JSONValue(encoding: shown)
            return copy
        }
    }
}
