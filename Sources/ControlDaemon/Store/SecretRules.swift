package import ControlAPI
package import Keychain

/// Whether each secret of a configuration is a reference, and every secret that a client sent has its place.
package enum SecretRules {
    /// Judges the places against the placeholders of this save and the items that there are.
    ///
    /// - Parameters:
    ///   - secrets: the descriptions in the call.
    ///   - labels: the labels in the bundle that came with it.
    ///   - others: references that stand elsewhere in the configuration.
    ///   - known: references that the stored configuration has already: their items need not be readable just now.
    ///   - isEnabled: whether the configuration may be started; one that is switched off needs none of the known items.
    ///   - lookUp: fails where an item can't be had by the configuration's owner.
    /// - Throws: `configurationInvalid`, `secretUnavailable`, `invalidParameter`; none shows what stands in the place.
    package static func check(
        _ places: [SecretPlaces.Place],
        secrets: [ConfigurationsCalls.SecretDescription],
        labels: Set<String>,
        others: Set<ItemReference> = [],
        known: Set<ItemReference> = [],
        isEnabled: Bool = true,
        lookUp: (ItemReference) throws(KeychainError) -> Void
    ) throws(ControlError) {
        var others = others
        var unused = Set(secrets.map(\.placeholder))
        let placeholders = unused
        guard placeholders.count == secrets.count else { throw parameter("secrets", "It names a placeholder twice.") }
        // An identity may have its password beside it.
        let passwords = secrets.filter { $0.kind == .identity }.map {
            KeychainCalls.passwordLabel(of: $0.placeholder)
        }
        guard placeholders == labels.subtracting(passwords) else {
            throw parameter(
                "secrets",
                labels.isEmpty
                    ? "No bundle of secrets came with the call."
                    : "The bundle of secrets doesn't hold exactly those that the call describes."
            )
        }
        // An item that was there and may be had again keeps nobody from changing its configuration, and not even one that
        // is gone from switching it off.
        let mayPass = { (reference: ItemReference, error: KeychainError) in
            known.contains(reference) && (error.mayPass || !isEnabled)
        }
        for place in places {
            guard case .string(let text) = place.value else { throw notAReference(place.field) }
            if placeholders.contains(text) {
                unused.remove(text)
                continue
            }
            guard let reference = ItemReference(text) else { throw notAReference(place.field) }
            try find(reference, at: place.field, mayPass, lookUp)
            others.remove(reference)
        }
        for reference in others {
            try find(reference, at: "provider.configuration", mayPass, lookUp)
        }
        guard unused.isEmpty else {
            throw parameter("secrets", "It describes a placeholder that the configuration doesn't use.")
        }
    }

    static func notAReference(_ field: String) -> ControlError {
        ControlError.invalid(
            field,
            "It doesn't hold a reference to a keychain item, and a secret itself is never kept in a configuration.",
            "It should hold the reference of an item, or the placeholder of a secret that is saved in the same call."
        )
    }

    private static func find(
        _ reference: ItemReference,
        at field: String,
        _ mayPass: (ItemReference, KeychainError) -> Bool,
        _ lookUp: (ItemReference) throws(KeychainError) -> Void
    ) throws(ControlError) {
        do throws(KeychainError) {
            try lookUp(reference)
        } catch {
            if mayPass(reference, error) { return }
            throw unavailable(field, error)
        }
    }

    private static func unavailable(_ field: String, _ error: KeychainError) -> ControlError {
        let message = "The configuration can't be saved: \(field) refers to an item that can't be had."
        guard case .notFound = error else {
            return ControlError(
                .secretUnavailable,
                message,
                reason: error.sentence,
                remedy: error.remedy,
                field: field
            )
        }
        return ControlError(
            .secretUnavailable,
            message,
            reason: "The keychain of the configuration's owner has no such item. If it was added just now, the look-up "
                + "may have run before the item was written.",
            remedy:
                "Add the secret first (tunnelctl keychain add), or import the configuration again with its secrets.",
            field: field
        )
    }

    private static func parameter(_ field: String, _ reason: String) -> ControlError {
        ControlError(.invalidParameter, "The configuration can't be saved.", reason: reason, field: field)
    }
}
