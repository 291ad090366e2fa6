import ControlAPI
package import LinuxSystem
package import TunnelCrypto

/// Why an item can't be kept or had.
///
/// Never shows a secret.
package enum KeychainError: Error, Equatable, Sendable {
    case emptySecret(label: String)
    case secretTooLong(label: String, limit: Int)
    /// A bundle of secrets can't be used.
    case malformedBundle(String)
    /// A PKCS#12 identity can't be used.
    case identity(PKCS12Fault)
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
        case .identity(let fault): fault.text
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
        case .sealedUnderAnotherKey:
            "\(Self.formerKey) and restart tunneld, or give the secret anew: tunnelctl keychain replace REFERENCE."
        case .locked:
            "\(Self.formerKey) and restart tunneld. Where there is none any more, move the unusable one away: tunneld "
                + "makes a key at its start, and the secrets have to be given anew."
        case .unreadable(_, let error): error.fileRemedy("the item's file")
        case .notFound, .damaged:
            "Put its file back from a backup, or give the secret anew: import the configuration with --replace, or "
                + "tunnelctl keychain add."
        case .identity(let fault): fault.remedy
        case .emptySecret, .secretTooLong, .malformedBundle: "Give the secret anew."
        case .system(let error): error.fileRemedy("tunneld's keychain")
        }
    }

    private static let formerKey =
        "Put the former host key back (the credential \(HostKeys.credentialName), or \(HostKeys.fileName) in the state "
        + "directory)"

    /// Whether nothing says that there is no such item: it may be had again.
    package var mayPass: Bool {
        switch self {
        case .damaged, .sealedUnderAnotherKey, .unreadable, .locked, .system: true
        case .notFound, .emptySecret, .secretTooLong, .malformedBundle, .identity: false
        }
    }
}

extension PKCS12Fault {
    var text: String {
        switch self {
        case .damaged: "the data are no PKCS#12 file, or damaged"
        case .wrongPassword: "the password of the PKCS#12 file is wrong, or the file is damaged"
        case .passwordHasZero: "the password of the PKCS#12 file has a zero byte in it"
        case .unsupported: "the PKCS#12 file is encrypted in a way that this machine's libcrypto doesn't offer"
        case .tooManyIterations: "the PKCS#12 file asks for too many rounds of key derivation"
        case .noPrivateKey: "the PKCS#12 file has no private key"
        case .noCertificate: "the PKCS#12 file has no certificate that belongs to its private key"
        case .notYetValid(let seconds): "the certificate isn't valid before \(Timestamp(seconds: seconds))"
        case .expired(let seconds): "the certificate expired at \(Timestamp(seconds: seconds))"
        }
    }

    var remedy: String {
        switch self {
        case .damaged: "Export the identity again, as PKCS#12 (.p12, .pfx)."
        case .wrongPassword, .passwordHasZero: "Give the password that the file was exported with."
        case .unsupported, .tooManyIterations:
            "Export it again with usual settings, such as those of `openssl pkcs12 -export`."
        case .noPrivateKey, .noCertificate: "Export it again, with the private key and its certificate."
        case .notYetValid: "Check this machine's clock, or wait."
        case .expired: "Have the certificate renewed; check this machine's clock."
        }
    }
}

extension Timestamp {
    /// - Parameter seconds: since 1970.
    init(seconds: Int64) { self.init(milliseconds: seconds.multipliedReportingOverflow(by: 1000).partialValue) }
}
