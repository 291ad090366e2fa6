package import LinuxSystem

/// Why an item can't be kept or had.
///
/// Never shows a secret.
package enum KeychainError: Error, Equatable, Sendable {
    case emptySecret(label: String)
    case secretTooLong(label: String, limit: Int)
    /// A bundle of secrets can't be used.
    case malformedBundle(String)
    /// There is none, or it belongs to another user: who asks isn't told which.
    case notFound(reference: String)
    /// Its file isn't what this program writes.
    case damaged(reference: String, String)
    /// It was sealed under another host key than those that there are.
    case sealedUnderAnotherKey(reference: String)
    /// Its file can't be read: busy, denied.
    case unreadable(reference: String, SystemError)
    /// There is no host key to seal with, and why.
    case locked(String)
    case system(SystemError)
}

extension KeychainError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .emptySecret(let label): "the secret \(label) is empty"
        case .secretTooLong(let label, let limit): "the secret \(label) is longer than \(limit) bytes"
        case .malformedBundle(let fault): "the bundle of secrets can't be used: \(fault)"
        case .notFound(let reference): "the keychain has no item \(reference) for this owner"
        case .damaged(let reference, let fault): "the file of the keychain item \(reference) is damaged: \(fault)"
        case .sealedUnderAnotherKey(let reference):
            "the keychain item \(reference) is sealed under another host key than this machine's present one"
        case .unreadable(let reference, let error): "the file of the keychain item \(reference) can't be read: \(error)"
        case .locked(let reason): "the keychain is locked: \(reason)"
        case .system(let error): error.description
        }
    }

    /// What a person can do so that the secret can be had again.
    package var remedy: String {
        switch self {
        case .sealedUnderAnotherKey, .locked:
            "Put the former host key back (the credential \(HostKeys.credentialName), or \(HostKeys.fileName) in the "
                + "state directory) and restart tunneld, or give the secret anew: tunnelctl keychain replace REFERENCE."
        case .unreadable:
            "Mend what keeps the file from being read, and try again."
        case .notFound, .damaged:
            "Put its file back from a backup, or give the secret anew: import the configuration with --replace, or "
                + "tunnelctl keychain add."
        case .emptySecret, .secretTooLong, .malformedBundle: "Give the secret anew."
        case .system: "Look whether the state directory is full or read-only."
        }
    }

    /// Whether nothing says that there is no such item: it may be had again.
    package var mayPass: Bool {
        switch self {
        case .damaged, .sealedUnderAnotherKey, .unreadable, .locked, .system: true
        case .notFound, .emptySecret, .secretTooLong, .malformedBundle: false
        }
    }
}
