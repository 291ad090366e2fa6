import ControlAPI
import Keychain
import LinuxSystem

/// Changes of keychain items; the store makes them, so that none comes between a save and the items that it counts on.
extension ConfigurationStore {
    /// Items of one owner that belong to no configuration.
    static let itemLimit = 4096

    /// Keeps a secret under a name of its own.
    ///
    /// - Throws: `nameTaken`, `tooMany`, and what `ControlError.init(_:_:)` makes of the keychain's errors.
    func addItem(_ secret: CheckedSecret, as header: ItemHeader) throws(ControlError) -> ItemReference {
        let what = "add the keychain item"
        let others = try items(of: header.owner, what)
        try checkName(header.label, among: others, what)
        guard others.count(where: { !$0.header.isPartOfConfiguration }) < Self.itemLimit else {
            throw ControlError(
                .tooMany,
                "Can't \(what).",
                reason: "User \(header.owner) has \(Self.itemLimit) of them already.",
                remedy: "Remove some: tunnelctl keychain remove NAME."
            )
        }
        return try failing(what) { () throws(KeychainError) in try keychain.add(secret, as: header) }
    }

    /// Puts another secret, another name, or both, in an item's place.
    ///
    /// - Parameter secret: nil: the one that there is.
    func replaceItem(
        _ reference: ItemReference,
        with secret: CheckedSecret?,
        as header: ItemHeader
    ) throws(ControlError) {
        let what = "replace the keychain item"
        try checkName(header.label, among: items(of: header.owner, what).filter { $0.reference != reference }, what)
        try failing(what) { () throws(KeychainError) in
            if let secret {
                // Removed meanwhile, it doesn't come back.
                _ = try keychain.claimedHeader(of: reference)
                try keychain.replace(reference, with: secret, as: header)
            } else {
                try keychain.rename(reference, to: header)
            }
        }
    }

    /// Removes an item.
    ///
    /// - Parameter isForced: whether also where configurations refer to it.
    /// - Throws: `inUse`, which names the configurations.
    func removeItem(_ reference: ItemReference, isForced: Bool) throws(ControlError) {
        let what = "remove the keychain item"
        if !isForced, let users = itemUsers()[reference]?.names {
            throw ControlError(
                .inUse,
                "Can't \(what): it is in use.",
                reason: "Configurations refer to it: \(users.joined(separator: ", ")).",
                remedy: "Have them refer to another item first, or add --force: they stay, but can't be started then."
            )
        }
        try failing(what) { () throws(KeychainError) in try keychain.remove(reference) }
    }

    /// Who refers to an item.
    struct ItemUsers: Sendable {
        /// The owner of the configurations, who is the item's.
        let owner: UInt32
        var names: [String] = []
    }

    /// The configurations that refer to each item.
    func itemUsers() -> [ItemReference: ItemUsers] {
        var users: [ItemReference: ItemUsers] = [:]
        for configuration in configurations() {
            for reference in StoreContents.references(in: configuration) {
                users[reference, default: ItemUsers(owner: configuration.owner.user)].names.append(configuration.name)
            }
        }
        return users
    }

    /// Why a start would fail for want of a secret now, or nil.
    nonisolated func secretFault(of configuration: Configuration) -> ControlError? {
        for reference in StoreContents.references(in: configuration).sorted(by: { $0.description < $1.description }) {
            do throws(KeychainError) {
                _ = try keychain.header(of: reference, ownedBy: configuration.owner.user)
            } catch {
                return ControlError(
                    .secretUnavailable,
                    "A secret of \(configuration.name) can't be had.",
                    reason: error.sentence,
                    remedy: "The configuration is unchanged. \(error.remedy)"
                )
            }
        }
        return nil
    }

    // MARK: Pieces

    private func items(
        of owner: UInt32,
        _ what: String
    ) throws(ControlError) -> [(reference: ItemReference, header: ItemHeader)] {
        try failing(what) { () throws(KeychainError) in
            // One that can't be read has no name that anybody could know.
            try keychain.references().compactMap { reference in
                guard let header = try? keychain.claimedHeader(of: reference), header.owner == owner else { return nil }
                return (reference, header)
            }
        }
    }

    private func checkName(
        _ name: String,
        among others: [(reference: ItemReference, header: ItemHeader)],
        _ what: String
    ) throws(ControlError) {
        if let fault = ConfigurationRules.nameFault(name) {
            throw ControlError(
                .invalidParameter,
                "Can't \(what): its name can't be used.",
                reason: fault,
                remedy: "Give 1 to \(ConfigurationRules.nameLimit) bytes of readable text.",
                field: "name"
            )
        }
        guard !others.contains(where: { $0.header.label == name }) else {
            throw ControlError(
                .nameTaken,
                "Can't \(what).",
                reason: "There is an item with this name already.",
                remedy: "Give another name, or put the secret in that item's place: tunnelctl keychain replace NAME.",
                field: "name"
            )
        }
    }

    private func failing<R>(
        _ what: String,
        _ body: () throws(KeychainError) -> R
    ) throws(ControlError) -> R {
        do throws(KeychainError) {
            return try body()
        } catch {
            throw ControlError(error, what)
        }
    }
}
