import ControlAPI
import LinuxSystem
import TunnelCrypto
import WireGuardConfig

/// A memfd with a `SecretBundle`, and what each of its secrets is.
typealias NewSecrets = (bundle: SharedDescriptor, descriptions: [ConfigurationsCalls.SecretDescription])

/// New secrets on their way to tunneld: a memfd, never JSON (design, section 5).
enum SecretEnvelope {
    /// - Returns: nil where there are no secrets.
    static func seal(
        _ secrets: borrowing ConfigurationSecrets
    ) throws(SystemError) -> NewSecrets? {
        let references = secrets.references
        guard !references.isEmpty else { return nil }
        let size = SecretBundle.byteCount(references.map { ($0, 32) })
        let file = try unsafe MemoryFile.make(name: "tunneld-secrets", count: size) { buffer in
            unsafe fill(buffer, references, secrets)
        }
        let descriptions = references.map { reference in
            let kind: SecretKind = reference == SecretPlaceholder.privateKey ? .privateKey : .sharedSecret
            return ConfigurationsCalls.SecretDescription(placeholder: reference, kind: kind)
        }
        return (SharedDescriptor(file), descriptions)
    }

    /// A secret for the keychain.
    ///
    /// - Parameter password: of an identity; an empty one is left out.
    static func seal(
        _ secret: borrowing SecretBytes,
        password: consuming SecretBytes?
    ) throws(SystemError) -> SharedDescriptor {
        let label = KeychainCalls.secretLabel
        let password = password ?? SecretBytes(zeroCount: 0)
        let passwordLabel = KeychainCalls.passwordLabel(of: label)
        var entries = [(label, secret.count)]
        if password.count > 0 { entries.append((passwordLabel, password.count)) }
        let size = SecretBundle.byteCount(entries)
        let hasPassword = entries.count > 1
        let (secretBytes, passwordBytes) = (secret.bytes, password.bytes)
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: "tunneld-secrets", count: size) { buffer in
                var writer = unsafe SecretBundle.Writer(into: buffer)
                _ = unsafe secretBytes.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
                guard hasPassword else { return }
                _ = unsafe passwordBytes.withUnsafeBytes { unsafe writer.append(label: passwordLabel, secret: $0) }
            }
        )
    }

    private static func fill(
        _ buffer: UnsafeMutableRawBufferPointer,
        _ references: [String],
        _ secrets: borrowing ConfigurationSecrets
    ) {
        var writer = unsafe SecretBundle.Writer(into: buffer)
        for reference in references {
            _ = secrets.withKey(for: reference) { key in
                unsafe key.withUnsafeBytes { unsafe writer.append(label: reference, secret: $0) }
            }
        }
    }

    /// Takes the secrets out of a bundle that tunneld revealed.
    static func open(_ bundle: SharedDescriptor) throws -> ConfigurationSecrets {
        var secrets = ConfigurationSecrets()
        let whole = try unsafe MemoryFile.withContents(of: bundle.raw, limit: SecretBundle.maximumBytes) { bytes in
            unsafe read(bytes, into: &secrets)
        }
        guard whole else {
            throw ControlError(.secretUnavailable, "The secrets that tunneld sent can't be read.")
        }
        return secrets
    }

    private static func read(_ bytes: UnsafeRawBufferPointer, into secrets: inout ConfigurationSecrets) -> Bool {
        unsafe SecretBundle.read(bytes) { label, secret in
            secrets.insert(unsafe RawSpan(_unsafeBytes: secret), for: label)
        }
    }
}
