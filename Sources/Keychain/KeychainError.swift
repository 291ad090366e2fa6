package import LinuxSystem

/// Why an item can't be kept or had.
///
/// Never shows a secret.
package enum KeychainError: Error, Equatable, Sendable {
    case emptySecret(label: String)
    case secretTooLong(label: String, limit: Int)
    /// A bundle of secrets can't be used.
    case malformedBundle(String)
    case notFound(reference: String)
    /// It belongs to another user.
    case foreign(reference: String)
    /// Its file isn't what this program writes.
    case damaged(reference: String, String)
    case system(SystemError)
}

extension KeychainError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .emptySecret(let label): "the secret \(label) is empty"
        case .secretTooLong(let label, let limit): "the secret \(label) is longer than \(limit) bytes"
        case .malformedBundle(let fault): "the bundle of secrets can't be used: \(fault)"
        case .notFound(let reference): "the keychain has no item \(reference)"
        case .foreign(let reference): "the keychain item \(reference) belongs to another user"
        case .damaged(let reference, let fault): "the file of the keychain item \(reference) is damaged: \(fault)"
        case .system(let error): error.description
        }
    }
}
