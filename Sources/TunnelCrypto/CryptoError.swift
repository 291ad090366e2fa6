/// What stops the cryptographic libraries from being used.
package enum CryptoError: Error, Hashable, Sendable {
    /// libcrypto doesn't offer the algorithm: it is too old, or restricted by its configuration (FIPS).
    case algorithmMissing(String)
    /// libsodium could not start.
    case unusableLibrary(String)
}

extension CryptoError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .algorithmMissing(let name):
            "libcrypto does not offer \(name). Use the OpenSSL 3 of Debian with its default provider enabled."
        case .unusableLibrary(let name):
            "\(name) could not be started. Reinstall the package that holds it."
        }
    }
}
