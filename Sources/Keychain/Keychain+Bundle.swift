package import ControlAPI
package import LinuxSystem
import TunnelCrypto

extension Keychain {
    /// What is kept of one of the secrets that a client sent, once it has been found good.
    ///
    /// An identity is opened with its password, and is both together from here on.
    ///
    /// - Parameter now: seconds since 1970, for the validity of a certificate.
    /// - Throws: `malformedBundle` where no secret has this label, `identity`.
    package static func checkedSecret(
        _ label: String,
        of secrets: PendingSecrets,
        kind: SecretKind,
        now: Int64
    ) throws(KeychainError) -> CheckedSecret {
        let checked = try secrets.withSecret(label) { (secret) throws(KeychainError) in
            guard kind == .identity else { return CheckedSecret(secret.copy(), identity: nil) }
            let password = KeychainCalls.passwordLabel(of: label)
            let joined = try secrets.withSecret(password) { (password) throws(KeychainError) in
                try identity(secret, password: password, now: now)
            }
            if let joined { return joined }
            return try identity(secret, password: SecretBytes(zeroCount: 0), now: now)
        }
        guard let checked else { throw .malformedBundle("it has no secret labelled \(label)") }
        return checked
    }

    private static func identity(
        _ data: borrowing SecretBytes,
        password: borrowing SecretBytes,
        now: Int64
    ) throws(KeychainError) -> CheckedSecret {
        let identity: PKCS12Identity
        do throws(PKCS12Fault) {
            identity = try PKCS12Identity(opening: data.bytes, password: password, now: now)
        } catch {
            throw .identity(error)
        }
        guard let joined = IdentitySecret.join(data, password: password) else { throw .identity(.wrongPassword) }
        let view = KeychainCalls.Identity(
            subject: identity.subject,
            notBefore: Timestamp(seconds: identity.notBefore),
            notAfter: Timestamp(seconds: identity.notAfter)
        )
        return CheckedSecret(joined, identity: view)
    }

    /// A sealed memfd with a `SecretBundle` of these items, labelled with their references; the password of an identity
    /// has a label of its own.
    ///
    /// - Parameter user: whose they must be; nil: anybody's.
    /// - Throws: as `secret(of:ownedBy:)`.
    package func sealedBundle(
        of references: Set<ItemReference>,
        ownedBy user: UInt32?
    ) throws(KeychainError) -> SharedDescriptor {
        let sorted = references.sorted { $0.name < $1.name }
        var size = SecretBundle.byteCount([])
        for reference in sorted { size += try room(for: reference, ownedBy: user) }
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

    private func room(for reference: ItemReference, ownedBy user: UInt32?) throws(KeychainError) -> Int {
        try withItem(reference, ownedBy: user) { (header, secret) throws(KeychainError) in
            let parts = try Self.parts(of: secret, header.kind, reference)
            return SecretBundle.byteCount(parts.map { ($0.label, $0.range.count) }) - SecretBundle.byteCount([])
        }
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
                var fits = true
                try withItem(reference, ownedBy: user) { (header, secret) throws(KeychainError) in
                    for part in try Self.parts(of: secret, header.kind, reference) {
                        fits = unsafe secret.bytes.extracting(part.range).withUnsafeBytes {
                            unsafe writer.append(label: part.label, secret: $0) && fits
                        }
                    }
                }
                guard fits else { throw .damaged(reference: reference.description, "it changed while it was read") }
            }
            return nil
        } catch {
            return error
        }
    }

    /// The pieces of an item's secret as a bundle has them.
    private static func parts(
        of secret: borrowing SecretBytes,
        _ kind: SecretKind,
        _ reference: ItemReference
    ) throws(KeychainError) -> [(label: String, range: Range<Int>)] {
        let label = reference.description
        guard kind == .identity else { return [(label, 0..<secret.count)] }
        guard let (password, data) = IdentitySecret.parts(of: secret.bytes) else {
            throw .damaged(reference: label, "its identity has no password's length")
        }
        return [(label, data), (KeychainCalls.passwordLabel(of: label), password)].filter { !$0.1.isEmpty }
    }
}

/// A secret that may be kept, and what its certificate says where it is an identity.
package final class CheckedSecret: Sendable {
    let secret: SecretBytes
    package let identity: KeychainCalls.Identity?

    init(_ secret: consuming SecretBytes, identity: KeychainCalls.Identity?) {
        self.secret = secret
        self.identity = identity
    }
}

extension Keychain {
    /// Keeps a secret that a client sent.
    ///
    /// - Throws: as `add(_:as:)`.
    package func add(_ checked: CheckedSecret, as header: ItemHeader) throws(KeychainError) -> ItemReference {
        try add(checked.secret, as: header)
    }

    /// Puts a secret that a client sent in an item's place.
    ///
    /// - Throws: as `add(_:as:)`.
    package func replace(
        _ reference: ItemReference,
        with checked: CheckedSecret,
        as header: ItemHeader
    ) throws(KeychainError) {
        try replace(reference, with: checked.secret, as: header)
    }
}
