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
}
