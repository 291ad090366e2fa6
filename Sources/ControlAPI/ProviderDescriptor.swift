/// How a provider is found and what it is: a JSON file in the descriptor folders, or what the program prints with
/// `--describe` (design, section 9).
package struct ProviderDescriptor: Codable, Equatable, Sendable {
    /// By what a configuration names it: "org.tunneld.wireguard".
    package var identifier: String
    /// Absolute path of the program.
    package var executable: String
    /// For people: "WireGuard".
    package var name: String
    /// The version of `org.tunneld.Provider` that it speaks.
    package var `protocol`: Int
    package var principalClass: String?
    /// Keys of its configuration, at any depth, that may only hold references to keychain items.
    package var secretKeys: [String]
    /// Members of its configuration that only the owner and root are shown; nil for none.
    package var ownerKeys: [String]?
    /// Bytes; null for none.
    package var memoryLimit: Int?

    package init(
        identifier: String,
        executable: String,
        name: String,
        protocol: Int,
        principalClass: String?,
        secretKeys: [String],
        ownerKeys: [String]? = nil,
        memoryLimit: Int?
    ) {
        self.identifier = identifier
        self.executable = executable
        self.name = name
        self.`protocol` = `protocol`
        self.principalClass = principalClass
        self.secretKeys = secretKeys
        self.ownerKeys = ownerKeys
        self.memoryLimit = memoryLimit
    }

    /// What `--validate` prints: each fault of the configuration read from standard input; empty when it is good.
    package struct Validation: Codable, Sendable {
        package var errors: [Fault]
        package var warnings: [Fault]
        package init(errors: [Fault], warnings: [Fault]) {
            self.errors = errors
            self.warnings = warnings
        }
    }

    /// One fault of a configuration.
    package struct Fault: Codable, Equatable, Sendable {
        /// Relative to the provider's configuration: "peers[1].endpoint".
        package var field: String
        /// What is wrong and what it should hold; never a secret.
        package var message: String
        package init(field: String, message: String) {
            self.field = field
            self.message = message
        }
    }
}

/// What tunneld leaves for a provider that it launches, in the provider's own folder, readable by that provider alone.
package struct LaunchDocument: Codable, Equatable, Sendable {
    /// The configuration's identifier.
    package var identifier: String
    package var nonce: String
    /// The only user id that may attach.
    package var controllerUser: UInt32

    package init(identifier: String, nonce: String, controllerUser: UInt32) {
        self.identifier = identifier
        self.nonce = nonce
        self.controllerUser = controllerUser
    }
}
