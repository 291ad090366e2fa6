/// Parameters and replies of `org.tunneld.Keychain` (its interface file has the descriptions).
package enum KeychainCalls {
    package static let interface = "org.tunneld.Keychain"

    /// The label in the `SecretBundle` of the secret that comes with `Add` and `Replace`.
    package static let secretLabel = "secret"

    /// The label of the password of a PKCS#12 identity, beside the label of the identity.
    package static func passwordLabel(of label: String) -> String { label + ".password" }

    /// Whose an item is.
    package enum Scope: String, Codable, Sendable { case user, system }

    package struct Item: Codable, Equatable, Sendable {
        package var reference: String
        package var name: String
        /// Null where the item can't be read.
        package var kind: SecretKind?
        package var scope: Scope
        /// The id of the user whose configurations may refer to it; 0 for the system.
        package var user: Int
        /// Whether it was saved with a configuration, and goes with it.
        package var partOfConfiguration: Bool
        /// Names of the configurations that refer to it.
        package var usedBy: [String]
        /// Why the secret can't be had now; null where it can.
        package var problem: String?

        package init(
            reference: String,
            name: String,
            kind: SecretKind?,
            user: Int,
            partOfConfiguration: Bool,
            usedBy: [String],
            problem: String?
        ) {
            self.reference = reference
            self.name = name
            self.kind = kind
            scope = user == 0 ? .system : .user
            self.user = user
            self.partOfConfiguration = partOfConfiguration
            self.usedBy = usedBy
            self.problem = problem
        }
    }

    // MARK: Calls

    /// What the certificate of a PKCS#12 identity says.
    package struct Identity: Codable, Equatable, Sendable {
        package var subject: String
        package var notBefore: Timestamp
        package var notAfter: Timestamp
        package init(subject: String, notBefore: Timestamp, notAfter: Timestamp) {
            self.subject = subject
            self.notBefore = notBefore
            self.notAfter = notAfter
        }
    }

    package struct AddParameters: Codable, Sendable {
        package var name: String
        /// A `SecretKind`, as text so that a wrong one is told by its field.
        package var kind: String
        package var scope: String?
        package var user: Int?
        package init(name: String, kind: SecretKind, scope: Scope?, user: Int? = nil) {
            self.name = name
            self.kind = kind.rawValue
            self.scope = scope?.rawValue
            self.user = user
        }
    }

    package struct AddReply: Codable, Sendable {
        package var reference: String
        package var identity: Identity?
        package init(reference: String, identity: Identity?) {
            self.reference = reference
            self.identity = identity
        }
    }

    package struct FindParameters: Codable, Sendable {
        package var name: String
        package var scope: String?
        package var user: Int?
        package init(name: String, scope: Scope? = nil, user: Int? = nil) {
            self.name = name
            self.scope = scope?.rawValue
            self.user = user
        }
    }

    package struct FindReply: Codable, Sendable {
        package var reference: String
        package var item: Item
        package init(item: Item) {
            reference = item.reference
            self.item = item
        }
    }

    package struct ReplaceParameters: Codable, Sendable {
        package var reference: String
        package var name: String?
        package init(reference: String, name: String?) {
            self.reference = reference
            self.name = name
        }
    }

    package struct ReplaceReply: Codable, Sendable {
        package var identity: Identity?
        package init(identity: Identity?) { self.identity = identity }
    }

    package struct RemoveParameters: Codable, Sendable {
        package var reference: String
        package var force: Bool?
        package init(reference: String, force: Bool) {
            self.reference = reference
            self.force = force
        }
    }

    package struct ListReply: Codable, Sendable {
        package var items: [Item]
        package init(items: [Item]) { self.items = items }
    }

    /// `Reveal`: the secrets that a configuration refers to, or that of one item; the reply brings a memfd with a
    /// `SecretBundle` whose labels are the references.
    package struct RevealParameters: Codable, Sendable {
        /// The identifier of the configuration.
        package var identifier: String?
        package var reference: String?
        package init(identifier: String) { self.identifier = identifier }
        package init(reference: String) { self.reference = reference }
    }

    package struct RevealReply: Codable, Sendable {
        /// How many secrets stand in the bundle.
        package var count: Int
        package init(count: Int) { self.count = count }
    }
}

extension KeychainCalls.Item {
    private enum CodingKeys: String, CodingKey {
        case reference, name, kind, scope, user, partOfConfiguration, usedBy, problem
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(reference, forKey: .reference)
        try container.encode(name, forKey: .name)
        try container.encode(kind, forKey: .kind)
        try container.encode(scope, forKey: .scope)
        try container.encode(user, forKey: .user)
        try container.encode(partOfConfiguration, forKey: .partOfConfiguration)
        try container.encode(usedBy, forKey: .usedBy)
        try container.encode(problem, forKey: .problem)
    }
}
