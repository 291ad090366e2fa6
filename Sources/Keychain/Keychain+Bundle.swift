import ControlAPI
package import LinuxSystem
import TunnelCrypto

extension Keychain {
    /// Keeps one of the secrets that a client sent.
    ///
    /// - Throws: as `add(_:as:)`; `malformedBundle` where no secret has this label.
    package func add(
        _ label: String,
        of secrets: PendingSecrets,
        as header: ItemHeader
    ) throws(KeychainError) -> ItemReference {
        let reference = try secrets.withSecret(label) { (secret) throws(KeychainError) in try add(secret, as: header) }
        guard let reference else { throw .malformedBundle("it has no secret labelled \(label)") }
        return reference
    }

    /// A sealed memfd with a `SecretBundle` of these items, labelled with their references.
    ///
    /// - Parameter user: whose they must be; nil: anybody's.
    /// - Throws: as `secret(of:ownedBy:)`.
    package func sealedBundle(
        of references: Set<ItemReference>,
        ownedBy user: UInt32?
    ) throws(KeychainError) -> SharedDescriptor {
        var size = SecretBundle.byteCount([])
        let sorted = references.sorted { $0.name < $1.name }
        for reference in sorted {
            size +=
                try SecretBundle.byteCount([(reference.description, secret(of: reference, ownedBy: user).count)])
                - SecretBundle.byteCount([])
        }
        guard size <= SecretBundle.maximumBytes else { throw .malformedBundle("the secrets are too many for one") }
        var failure: KeychainError?
        let file: OwnedDescriptor
        do throws(SystemError) {
            file = try unsafe MemoryFile.make(name: "secrets", count: size) { buffer in
                failure = unsafe write(sorted, ownedBy: user, into: buffer)
            }
        } catch {
            throw .system(error)
        }
        if let failure { throw failure }
        return SharedDescriptor(file)
    }

    /// Writes item by item, so that never more than one secret lies in memory of ours.
    private func write(
        _ references: [ItemReference],
        ownedBy user: UInt32?,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> KeychainError? {
        var writer = unsafe SecretBundle.Writer(into: buffer)
        do throws(KeychainError) {
            for reference in references {
                let secret = try secret(of: reference, ownedBy: user)
                let fits = unsafe secret.bytes.withUnsafeBytes {
                    unsafe writer.append(label: reference.description, secret: $0)
                }
                guard fits else { throw .damaged(reference: reference.description, "it changed while it was read") }
            }
            return nil
        } catch {
            return error
        }
    }
}
