import LinuxSystem

extension Keychain {
    /// Keeps one of the secrets that a client sent, under a reference that was noted before.
    ///
    /// - Throws: as `add(_:as:)` and `checkedSecret`.
    package func add(
        _ label: String,
        of secrets: PendingSecrets,
        as header: ItemHeader,
        at reference: ItemReference
    ) throws(KeychainError) {
        let now = WallClockTime.now().seconds
        let checked = try Self.checkedSecret(label, of: secrets, kind: header.kind, now: now)
        try replace(reference, with: checked, as: header)
    }

    /// Removes an item that no configuration refers to any more, if it was saved with one.
    ///
    /// One that was added by itself is removed by itself; so is one that can't be read.
    ///
    /// - Throws: `system`.
    package func removeWithConfiguration(_ reference: ItemReference) throws(KeychainError) {
        guard (try? claimedHeader(of: reference))?.isPartOfConfiguration == true else { return }
        try remove(reference)
    }
}
