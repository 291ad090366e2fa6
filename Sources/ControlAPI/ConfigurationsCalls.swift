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

extension ConfigurationsCalls {
    /// `History`: the generations of one configuration, ascending.
    package struct HistoryReply: Codable, Sendable {
        package var identifier: String
        package var name: String
        package var generations: [Generation]
        /// What became of the configuration's file, where it can only be restored; else null.
        package var lost: String?
        package var readAt: Timestamp
        package init(identifier: String, name: String, generations: [Generation], lost: String?, readAt: Timestamp) {
            self.identifier = identifier
            self.name = name
            self.generations = generations
            self.lost = lost
            self.readAt = readAt
        }
    }

    package struct Generation: Codable, Equatable, Sendable {
        package var generation: Int
        /// When it was saved.
        package var time: Timestamp
        package var isPresent: Bool
        package var name: String?
        /// The keys that differ from the generation before; null for the first one kept.
        package var changes: [String]?
        /// Why it can't be restored; null where it can.
        package var fault: String?
        package init(generation: Int, time: Timestamp, isPresent: Bool) {
            self.generation = generation
            self.time = time
            self.isPresent = isPresent
        }
    }

    package struct RestoreParameters: Codable, Sendable {
        package var identifier: String
        /// The one to make the present one again, under a new number.
        package var generation: Int
        /// The present one that was loaded; left out: whichever it is.
        package var loaded: Int?
        package init(identifier: String, generation: Int, loaded: Int?) {
            self.identifier = identifier
            self.generation = generation
            self.loaded = loaded
        }
    }

    /// `Lost`: configurations whose file is damaged or gone, and that `Restore` can bring back.
    package struct LostReply: Codable, Sendable {
        package var configurations: [Lost]
        package init(configurations: [Lost]) { self.configurations = configurations }
    }

    package struct Lost: Codable, Sendable {
        package var identifier: String
        package var name: String
        package var owner: Configuration.Owner
        /// The last good one.
        package var generation: Int
        package var reason: String
        package init(identifier: String, name: String, owner: Configuration.Owner, generation: Int, reason: String) {
            self.identifier = identifier
            self.name = name
            self.owner = owner
            self.generation = generation
            self.reason = reason
        }
    }

    /// One change of `Watch`; the first ones say what is there.
    package struct WatchReply: Codable, Sendable {
        /// As in `org.tunneld.Sessions.Monitor`: both count the same events.
        package var sequence: Int
        package var time: Timestamp
        package var kind: Kind
        /// Null only for `ready` and `resynchronise`.
        package var identifier: String?
        /// As it is stored now; null for `removed`, `ready` and `resynchronise`.
        package var configuration: Configuration?

        package enum Kind: String, Codable, Sendable { case present, ready, changed, removed, resynchronise }

        package init(sequence: Int, time: Timestamp, kind: Kind, identifier: String?, configuration: Configuration?) {
            self.sequence = sequence
            self.time = time
            self.kind = kind
            self.identifier = identifier
            self.configuration = configuration
        }
    }
}

/// What a keychain item is.
package enum SecretKind: String, Codable, Sendable { case password, sharedSecret, privateKey, identity }
