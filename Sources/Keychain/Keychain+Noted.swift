import LinuxSystem

extension Keychain {
    /// One of the secrets that a client sent, by its label, and the item that is to hold it.
    package struct NotedItem: Sendable {
        let label: String
        let header: ItemHeader
        let reference: ItemReference

        package init(_ label: String, as header: ItemHeader, at reference: ItemReference) {
            self.label = label
            self.header = header
            self.reference = reference
        }
    }

    /// Keeps secrets that a client sent, under references that were noted before; durable once this has returned.
    ///
    /// Where it fails, some of the items may be there.
    ///
    /// - Parameter onItem: called after each item that is there.
    /// - Throws: as `add(_:as:)` and `checkedSecret`.
    package func add(
        _ items: [NotedItem],
        of secrets: PendingSecrets,
        onItem: () -> Void = {}
    ) throws(KeychainError) {
        let now = WallClockTime.now().seconds
        var batch = AtomicFileBatch(in: folder, mode: 0o600)
        for item in items {
            let checked = try Self.checkedSecret(item.label, of: secrets, kind: item.header.kind, now: now)
            let bytes = try sealed(checked.secret, as: item.header, at: item.reference)
            do throws(SystemError) {
                try batch.add(bytes, as: item.reference.name)
            } catch {
                throw .system(error)
            }
        }
        do throws(SystemError) {
            try batch.commit(onFile: onItem)
        } catch {
            throw .system(error)
        }
    }

    /// Removes items that no configuration refers to any more, those that were saved with one.
    ///
    /// One that was added by itself is removed by itself; so is one that can't be read.
    ///
    /// - Parameter onItem: called after each that is gone.
    /// - Throws: `system`.
    package func removeWithConfiguration(
        _ references: some Sequence<ItemReference>,
        onItem: () -> Void = {}
    ) throws(KeychainError) {
        let parts = references.filter { (try? claimedHeader(of: $0))?.isPartOfConfiguration == true }
        try remove(parts, onItem: onItem)
    }
}
