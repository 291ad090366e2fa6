/// What stands for a new secret in a configuration until tunneld has made a keychain item of it on saving.
package enum SecretPlaceholder {
    package static let privateKey = "new:private-key"

    /// - Parameter number: 1 for the first pre-shared key of the configuration.
    package static func presharedKey(_ number: Int) -> String { "new:preshared-key-\(number)" }
}
