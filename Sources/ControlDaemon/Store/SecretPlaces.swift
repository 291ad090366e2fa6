package import ControlAPI
import Keychain

/// Where a configuration holds references to secrets, and nothing but references (design, section 9, `secretKeys`).
package struct SecretPlaces: Sendable {
    /// Keys of the provider's configuration, at any depth.
    private let keys: Set<String>

    package init(keys: some Sequence<String>) { self.keys = Set(keys) }

    /// The places as far as they can be told without the provider: where one of the placeholders stands, or a reference.
    package init(of placeholders: Set<String>, in configuration: Configuration) {
        var keys: Set<String> = []
        if let provider = configuration.provider {
            Self.collectKeys(of: provider.configuration, under: nil, to: &keys) {
                placeholders.contains($0) || ItemReference($0) != nil
            }
        }
        self.keys = keys
    }

    package struct Place: Equatable, Sendable {
        /// The path in the document: "provider.configuration.peers[0].presharedKeyReference".
        package let field: String
        package let value: JSONValue
    }

    /// Every place that holds something, in a fixed order.
    package func places(in configuration: Configuration) -> [Place] {
        var found: [Place] = []
        if let reference = configuration.passwordReference {
            found.append(Place(field: "passwordReference", value: .string(reference)))
        }
        if let provider = configuration.provider {
            collect(provider.configuration, "provider.configuration", &found)
        }
        return found
    }

    /// The configuration with each text in such a place that `replacement` knows put in its place.
    package func replacing(
        in configuration: Configuration,
        _ replacement: (String) -> String?
    ) -> Configuration {
        var result = configuration
        result.passwordReference = configuration.passwordReference.map { replacement($0) ?? $0 }
        if let provider = configuration.provider {
            result.provider?.configuration = replaced(provider.configuration, replacement)
        }
        return result
    }

    private func collect(_ value: JSONValue, _ path: String, _ found: inout [Place]) {
        switch value {
        case .object(let members):
            for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                if keys.contains(key) {
                    if member != .null { found.append(Place(field: "\(path).\(key)", value: member)) }
                } else {
                    collect(member, "\(path).\(key)", &found)
                }
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() { collect(element, "\(path)[\(index)]", &found) }
        default: break
        }
    }

    private static func collectKeys(
        of value: JSONValue,
        under key: String?,
        to keys: inout Set<String>,
        where isSecret: (String) -> Bool
    ) {
        switch value {
        case .object(let members):
            for (key, member) in members { collectKeys(of: member, under: key, to: &keys, where: isSecret) }
        case .array(let elements):
            for element in elements { collectKeys(of: element, under: nil, to: &keys, where: isSecret) }
        case .string(let text):
            if let key, isSecret(text) { keys.insert(key) }
        default: break
        }
    }

    private func replaced(_ value: JSONValue, _ replacement: (String) -> String?) -> JSONValue {
        switch value {
        case .object(let members):
            var result = members
            for (key, member) in members {
                if keys.contains(key) {
                    if case .string(let text) = member, let new = replacement(text) { result[key] = .string(new) }
                } else {
                    result[key] = replaced(member, replacement)
                }
            }
            return .object(result)
        case .array(let elements): return .array(elements.map { replaced($0, replacement) })
        default: return value
        }
    }
}
