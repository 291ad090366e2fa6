/// Parameters of `org.tunneld.Keychain`.
package enum KeychainCalls {
    package static let interface = "org.tunneld.Keychain"

    /// `Reveal`: the secrets that a configuration refers to; the reply brings a memfd with a `SecretBundle` whose
    /// labels are the references.
    package struct RevealParameters: Codable, Sendable {
        /// The identifier of the configuration.
        package var identifier: String
        package init(identifier: String) { self.identifier = identifier }
    }

    package struct RevealReply: Codable, Sendable {
        /// How many secrets stand in the bundle.
        package var count: Int
        package init(count: Int) { self.count = count }
    }
}
