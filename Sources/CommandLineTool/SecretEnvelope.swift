import ControlAPI
import LinuxSystem
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
