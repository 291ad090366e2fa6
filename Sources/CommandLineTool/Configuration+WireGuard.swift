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
        var copy = self
        copy.provider?.configuration = provider.map { shown($0.configuration, isHook: false) } ?? .null
        return copy
    }

    /// A part of the configuration with what looks like a key hidden in its hooks, but for its peers' public keys.
    ///
    /// - Parameter isHook: whether the part belongs to a hook itself.
    func shown(_ part: JSONValue, isHook: Bool) -> JSONValue {
        switch part {
        case .string(let text): isHook ? .string(Hook.shown(text, publicKeys: publicKeys)) : part
        case .array(let elements): .array(elements.map { shown($0, isHook: isHook) })
        case .object(let members):
            .object(
                Dictionary(uniqueKeysWithValues: members.map { ($0, shown($1, isHook: isHook || $0 == "hooks")) })
            )
        default: part
        }
    }

    /// Read from the document itself: what doesn't make a whole configuration is to hide its keys as well.
    private var publicKeys: Set<String> {
        Set((provider?.configuration["peers"]?.array ?? []).compactMap { $0["publicKey"]?.string })
    }
}
