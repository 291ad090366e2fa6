/// A stored configuration: one document of the store (design, section 10).
package struct Configuration: Codable, Equatable, Sendable {
    /// The version of the document's format: 1.
    package var version: Int
    /// A UUID in lower case; given by tunneld when the first save leaves it empty.
    package var identifier: String
    /// Counts the saves that changed something; given by tunneld.
    package var generation: Int
    /// What people call it; unique per owner.
    package var name: String
    package var owner: Owner
    package var type: Kind
    /// Whether it may be started at all.
    package var enabled: Bool
    package var exclusive: Bool
    package var startAtBoot: Bool
    /// What to show as the server; the provider's own configuration decides where packets go.
    package var serverAddress: String?
    package var username: String?
    package var passwordReference: String?
    package var includeAllNetworks: Bool
    package var excludeLocalNetworks: Bool
    package var enforceRoutes: Bool
    package var persistentBlock: Bool
    package var disconnectOnSleep: Bool
    /// The identifier of the configuration through whose tunnel this one's outer packets go; a save takes its name, too.
    ///
    /// Nil: outside of all tunnels.
    package var nestedIn: String?
    package var onDemand: OnDemand
    package var provider: Provider?

    /// The members of the document.
    package enum CodingKeys: String, CodingKey, CaseIterable {
        case version, identifier, generation, name, owner, type, enabled, exclusive, startAtBoot, serverAddress,
            username
        case passwordReference, includeAllNetworks, excludeLocalNetworks, enforceRoutes, persistentBlock
        case disconnectOnSleep, nestedIn, onDemand, provider
    }

    package init(name: String, owner: Owner, provider: Provider) {
        version = 1
        identifier = ""
        generation = 0
        self.name = name
        self.owner = owner
        type = .provider
        enabled = true
        exclusive = false
        startAtBoot = false
        includeAllNetworks = false
        excludeLocalNetworks = false
        enforceRoutes = false
        persistentBlock = false
        disconnectOnSleep = false
        onDemand = OnDemand(enabled: false, rules: [])
        self.provider = provider
    }

    /// Whom it belongs to (design, section 3, "Ownership").
    package struct Owner: Codable, Hashable, Sendable {
        /// The user id; 0 for the system.
        package var user: UInt32
        /// The label that the client stated: it separates, it does not protect.
        package var application: String?
        package var profile: String?

        package enum CodingKeys: String, CodingKey, CaseIterable { case user, application, profile }

        package init(user: UInt32, application: String? = nil, profile: String? = nil) {
            self.user = user
            self.application = application
            self.profile = profile
        }
    }

    package enum Kind: String, Codable, Sendable { case provider, ikev2, ipsec }

    package struct OnDemand: Codable, Equatable, Sendable {
        package var enabled: Bool
        package var rules: [JSONValue]

        package enum CodingKeys: String, CodingKey, CaseIterable { case enabled, rules }

        package init(enabled: Bool, rules: [JSONValue]) {
            self.enabled = enabled
            self.rules = rules
        }
    }

    package struct Provider: Codable, Equatable, Sendable {
        /// The provider's identifier, as its descriptor states it: "org.tunneld.wireguard".
        package var identifier: String
        /// An object whose shape is the provider's own affair; secrets stand in it as references only.
        package var configuration: JSONValue

        package enum CodingKeys: String, CodingKey, CaseIterable { case identifier, configuration }

        package init(identifier: String, configuration: JSONValue) {
            self.identifier = identifier
            self.configuration = configuration
        }
    }
}

extension Configuration {
    /// Keys that may be left out take the values of a new configuration; `name` and `type` may not.
    package init(from decoder: any Decoder) throws {
        let c = try decoder.container(keyedBy: CodingKeys.self)
        version = try c.wholeNumber(Int.self, forKey: .version) ?? 1
        identifier = try c.decodeIfPresent(String.self, forKey: .identifier) ?? ""
        generation = try c.wholeNumber(Int.self, forKey: .generation) ?? 0
        name = try c.decode(String.self, forKey: .name)
        owner = try c.decodeIfPresent(Owner.self, forKey: .owner) ?? Owner(user: 0)
        type = try c.decode(Kind.self, forKey: .type)
        enabled = try c.decodeIfPresent(Bool.self, forKey: .enabled) ?? false
        exclusive = try c.decodeIfPresent(Bool.self, forKey: .exclusive) ?? false
        startAtBoot = try c.decodeIfPresent(Bool.self, forKey: .startAtBoot) ?? false
        serverAddress = try c.decodeIfPresent(String.self, forKey: .serverAddress)
        username = try c.decodeIfPresent(String.self, forKey: .username)
        passwordReference = try c.decodeIfPresent(String.self, forKey: .passwordReference)
        includeAllNetworks = try c.decodeIfPresent(Bool.self, forKey: .includeAllNetworks) ?? false
        excludeLocalNetworks = try c.decodeIfPresent(Bool.self, forKey: .excludeLocalNetworks) ?? false
        enforceRoutes = try c.decodeIfPresent(Bool.self, forKey: .enforceRoutes) ?? false
        persistentBlock = try c.decodeIfPresent(Bool.self, forKey: .persistentBlock) ?? false
        disconnectOnSleep = try c.decodeIfPresent(Bool.self, forKey: .disconnectOnSleep) ?? false
        nestedIn = try c.decodeIfPresent(String.self, forKey: .nestedIn)
        onDemand = try c.decodeIfPresent(OnDemand.self, forKey: .onDemand) ?? OnDemand(enabled: false, rules: [])
        provider = try c.decodeIfPresent(Provider.self, forKey: .provider)
    }
}

extension Configuration.Owner {
    package init(from decoder: any Decoder) throws {
        let c = try decoder.container(keyedBy: CodingKeys.self)
        guard let user = try c.wholeNumber(UInt32.self, forKey: .user) else {
            throw DecodingError.keyNotFound(
                CodingKeys.user,
                DecodingError.Context(codingPath: c.codingPath, debugDescription: "no user")
            )
        }
        self.user = user
        application = try c.decodeIfPresent(String.self, forKey: .application)
        profile = try c.decodeIfPresent(String.self, forKey: .profile)
    }
}

extension Configuration.OnDemand {
    /// Without rules it holds none; whether it is on must be said.
    package init(from decoder: any Decoder) throws {
        let c = try decoder.container(keyedBy: CodingKeys.self)
        enabled = try c.decode(Bool.self, forKey: .enabled)
        rules = try c.decodeIfPresent([JSONValue].self, forKey: .rules) ?? []
    }
}
