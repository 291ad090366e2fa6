import LinuxSystem

extension Keychain {
    /// Keeps one of the secrets that a client sent, under a reference that was noted before.
    ///
    /// - Throws: as `add(_:as:)`; `malformedBundle` where no secret has this label.
    package func add(
        _ label: String,
        of secrets: PendingSecrets,
        as header: ItemHeader,
        at reference: ItemReference
    ) throws(KeychainError) {
        let done: Void? = try secrets.withSecret(label) { (secret) throws(KeychainError) in
            try replace(reference, with: secret, as: header)
        }
        guard done != nil else { throw .malformedBundle("it has no secret labelled \(label)") }
    }
}
