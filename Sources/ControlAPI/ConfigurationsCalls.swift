/// Parameters and replies of `org.tunneld.Configurations` (its interface file has the descriptions).
package enum ConfigurationsCalls {
    package static let interface = "org.tunneld.Configurations"

    package struct LoadParameters: Codable, Sendable {
        package var identifier: String
        package init(identifier: String) { self.identifier = identifier }
    }

    package struct LoadReply: Codable, Sendable {
        /// Null only in the one reply of `LoadAll` when there is nothing to load.
        package var configuration: Configuration?
        package var readAt: Timestamp
        package init(configuration: Configuration?, readAt: Timestamp) {
            self.configuration = configuration
            self.readAt = readAt
        }
    }

    /// `Save`: secrets come in a `SecretBundle` in a memfd beside the message; its labels are the placeholders
    /// ("new:…") that stand in the configuration where the references shall be.
    package struct SaveParameters: Codable, Sendable {
        package var configuration: Configuration
        /// The generation that was loaded; 0 for a new one; left out is stale.
        package var generation: Int?
        /// Of the secrets in the bundle: what each is.
        package var secrets: [SecretDescription]?
        package init(configuration: Configuration, generation: Int?, secrets: [SecretDescription]?) {
            self.configuration = configuration
            self.generation = generation
            self.secrets = secrets
        }
    }

    package struct SecretDescription: Codable, Equatable, Sendable {
        /// The label in the bundle and the text in the configuration: "new:private-key".
        package var placeholder: String
        package var kind: SecretKind
        package init(placeholder: String, kind: SecretKind) {
            self.placeholder = placeholder
            self.kind = kind
        }
    }

    package struct SaveReply: Codable, Sendable {
        package var identifier: String
        package var generation: Int
        package var warnings: [String]
        package init(identifier: String, generation: Int, warnings: [String]) {
            self.identifier = identifier
            self.generation = generation
            self.warnings = warnings
        }
    }

    package struct RemoveParameters: Codable, Sendable {
        package var identifier: String
        package var generation: Int?
        package init(identifier: String, generation: Int?) {
            self.identifier = identifier
            self.generation = generation
        }
    }
}

/// What a keychain item is.
package enum SecretKind: String, Codable, Sendable { case password, sharedSecret, privateKey, identity }
