import ControlAPI

/// The members that a configuration's document may have; a provider judges those of its own part.
enum ConfigurationMembers {
    /// A member that this version doesn't know: left out silently, it would be lost with the next save.
    struct Unknown: Equatable {
        /// "onDemand.rulez".
        let field: String
        /// The known one that was probably meant.
        let nearest: String?
    }

    static let own = names(Configuration.CodingKeys.self)
    static let parts = [
        ("owner", names(Configuration.Owner.CodingKeys.self)),
        ("onDemand", names(Configuration.OnDemand.CodingKeys.self)),
        ("provider", names(Configuration.Provider.CodingKeys.self)),
    ]

    /// The first unknown member of a document, by its own and then its parts' members in the order of the alphabet.
    static func unknown(in document: JSONValue) -> Unknown? {
        if let unknown = unknown(in: document, "", among: own) { return unknown }
        for (part, names) in parts {
            if let value = document[part], let unknown = unknown(in: value, part + ".", among: names) { return unknown }
        }
        return nil
    }

    private static func unknown(in object: JSONValue, _ path: String, among names: [String]) -> Unknown? {
        guard let name = object.object?.keys.sorted().first(where: { !names.contains($0) }) else { return nil }
        let nearest = NearestName.find(name, among: names)
        return Unknown(field: path + (nearest == nil ? ControlError.named(name) : name), nearest: nearest)
    }

    private static func names<Keys: CodingKey & CaseIterable>(_ keys: Keys.Type) -> [String] {
        keys.allCases.map(\.stringValue)
    }
}
