import Keychain

/// Who refers to the keychain's items, and which of them nobody needs any more.
struct ItemUses: Sendable {
    /// How many present configurations refer to an item.
    private var counts: [ItemReference: Int] = [:]
    /// What earlier generations of a configuration refer to; they can be restored.
    private var remembered: [String: Set<ItemReference>] = [:]
    /// What running sessions may read again.
    private var pins: [String: Set<ItemReference>] = [:]
    /// Items that a configuration has given up.
    private var condemned: Set<ItemReference> = []
    /// Whether `remembered` has all of the history.
    private(set) var knowsHistory = false

    init() {}

    var hasCondemned: Bool { !condemned.isEmpty }

    mutating func use(_ references: Set<ItemReference>) {
        for reference in references { counts[reference, default: 0] += 1 }
    }

    /// A present configuration refers to them no more.
    mutating func giveUp(_ references: Set<ItemReference>) {
        for reference in references {
            let count = (counts[reference] ?? 1) - 1
            counts[reference] = count == 0 ? nil : count
            if count == 0 { condemned.insert(reference) }
        }
    }

    mutating func condemn(_ references: Set<ItemReference>) { condemned.formUnion(references) }

    mutating func pin(_ references: Set<ItemReference>, by session: String) { pins[session] = references }

    mutating func unpin(by session: String) { pins[session] = nil }

    /// An earlier generation refers to them.
    mutating func remember(_ references: Set<ItemReference>, of identifier: String) {
        guard !references.isEmpty else { return }
        remembered[identifier, default: []].formUnion(references)
    }

    /// The earlier generations refer to these and to no others; what they did before is given up.
    mutating func remember(only references: Set<ItemReference>, of identifier: String) {
        condemned.formUnion(remembered[identifier] ?? [])
        remembered[identifier] = references.isEmpty ? nil : references
    }

    mutating func forget(_ identifier: String) { remembered[identifier] = nil }

    /// Takes what all of the history refers to.
    mutating func learn(_ history: [String: Set<ItemReference>]) {
        for (identifier, references) in history { remember(references, of: identifier) }
        knowsHistory = true
    }

    /// The items that nobody needs, which are forgotten here; those that a session has pinned wait for it.
    mutating func takeUseless() -> Set<ItemReference> {
        let pinned = pins.values.reduce(into: Set<ItemReference>()) { $0.formUnion($1) }
        let useless = condemned.filter { reference in
            counts[reference] == nil && !remembered.values.contains { $0.contains(reference) }
        }
        condemned.formIntersection(useless.intersection(pinned))
        return useless.subtracting(pinned)
    }
}
