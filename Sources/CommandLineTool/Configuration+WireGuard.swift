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
        copy.provider?.configuration = provider.map { shown($0.configuration, mayHoldKeys: false) } ?? .null
        return copy
    }

    /// A part of the configuration with what looks like a key hidden in its hooks, but for its peers' public keys.
    ///
    /// - Parameter mayHoldKeys: whether to hide it everywhere in the part.
    func shown(_ part: JSONValue, mayHoldKeys: Bool) -> JSONValue {
        switch part {
        case .string(let text): mayHoldKeys ? .string(Hook.shown(text, publicKeys: publicKeys)) : part
        case .array(let elements): .array(elements.map { shown($0, mayHoldKeys: mayHoldKeys) })
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { ($0, shown($1, mayHoldKeys: mayHoldKeys || $0 == "hooks")) }
                )
            )
        default: part
        }
    }

    /// Read from the document itself: what doesn't make a whole configuration is to hide its keys as well.
    private var publicKeys: Set<String> {
        Set((provider?.configuration["peers"]?.array ?? []).compactMap { $0["publicKey"]?.string })
    }
}
