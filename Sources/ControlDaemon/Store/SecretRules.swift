package import ControlAPI
package import Keychain

/// Whether each secret of a configuration is a reference, and every secret that a client sent has its place.
package enum SecretRules {
    /// Judges the places against the placeholders of this save and the items that there are.
    ///
    /// - Parameters:
    ///   - secrets: the descriptions in the call.
    ///   - labels: the labels in the bundle that came with it.
    ///   - owner: whose items may be referred to.
    ///   - item: the header of an existing item; nil where there is none, or it can't be read.
    /// - Throws: `configurationInvalid`, `secretUnavailable`, `invalidParameter`; none shows what stands in the place.
    package static func check(
        _ places: [SecretPlaces.Place],
        secrets: [ConfigurationsCalls.SecretDescription],
        labels: Set<String>,
        owner: UInt32,
        item: (ItemReference) -> ItemHeader?
    ) throws(ControlError) {
        var unused = Set(secrets.map(\.placeholder))
        let known = unused
        guard known.count == secrets.count else { throw parameter("secrets", "It names a placeholder twice.") }
        guard known == labels else {
            throw parameter(
                "secrets",
                labels.isEmpty
                    ? "No bundle of secrets came with the call."
                    : "The bundle of secrets doesn't hold exactly those that the call describes."
            )
        }
        for place in places {
            guard case .string(let text) = place.value else { throw notAReference(place.field) }
            if known.contains(text) {
                unused.remove(text)
                continue
            }
            guard let reference = ItemReference(text) else { throw notAReference(place.field) }
            guard item(reference)?.owner == owner else { throw missing(place.field) }
        }
        guard unused.isEmpty else {
            throw parameter("secrets", "It describes a placeholder that the configuration doesn't use.")
        }
    }

    private static func notAReference(_ field: String) -> ControlError {
        ConfigurationRules.invalid(
            field,
            "It doesn't hold a reference to a keychain item, and a secret itself is never kept in a configuration.",
            "It should hold the reference of an item, or the placeholder of a secret that is saved in the same call."
        )
    }

    private static func missing(_ field: String) -> ControlError {
        ControlError(
            .secretUnavailable,
            "The configuration can't be saved: \(field) refers to an item that can't be had.",
            reason: "The keychain of the configuration's owner has no such item. If it was added just now, the look-up "
                + "may have run before the item was written.",
            remedy: "Add the secret first, or import the configuration again with its secrets.",
            field: field
        )
    }

    private static func parameter(_ field: String, _ reason: String) -> ControlError {
        ControlError(.invalidParameter, "The configuration can't be saved.", reason: reason, field: field)
    }
}
