/// Which peer each prefix belongs to: every prefix has one owner.
///
/// The form that is edited; `table()` gives the one that is searched.
package struct AllowedIPs<Owner: Hashable & Sendable>: Sendable {
    private var owners: [IPPrefix: Owner] = [:]

    package init() {}

    package var count: Int { owners.count }

    /// Gives a prefix to an owner; another one that had it loses it, as with `wg set`.
    ///
    /// Host bits don't count.
    package mutating func assign(_ prefix: IPPrefix, to owner: Owner) { owners[prefix.network] = owner }

    /// Takes a prefix away, but only from this owner.
    package mutating func remove(_ prefix: IPPrefix, from owner: Owner) {
        if owners[prefix.network] == owner { owners[prefix.network] = nil }
    }

    /// Takes all prefixes of an owner away.
    package mutating func removeAll(of owner: Owner) { owners = owners.filter { $0.value != owner } }

    /// The prefixes of an owner, in order.
    package func prefixes(of owner: Owner) -> [IPPrefix] {
        owners.filter { $0.value == owner }.keys.sorted()
    }

    /// The prefixes of every owner that has some, in order.
    package var byOwner: [Owner: [IPPrefix]] {
        Dictionary(grouping: owners, by: \.value).mapValues { $0.map(\.key).sorted() }
    }

    /// The table to look addresses up in, as it is now.
    package func table() -> AllowedIPsTable<Owner> { AllowedIPsTable(owners) }
}
