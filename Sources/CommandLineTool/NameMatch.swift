import ControlAPI

/// Finds the configuration that a person means by NAME.
package enum NameMatch {
    /// What a name is looked for among.
    package struct Candidate: Equatable, Sendable {
        package let identifier: String
        package let name: String
        /// Whether it belongs to the person who asks; names are unique per owner.
        package let isOwn: Bool
        /// Whose it is, for a person: "user 1000".
        package let owner: String

        package init(identifier: String, name: String, isOwn: Bool, owner: String) {
            self.identifier = identifier
            self.name = name
            self.isOwn = isOwn
            self.owner = owner
        }
    }

    /// The whole identifier or name, one's own first, or, where `prefixes` are allowed, the beginning of only one.
    ///
    /// - Throws: `UsageError` listing the candidates where several fit; `configurationUnknown`, with the nearest name,
    ///   where none does.
    package static func find(
        _ text: String,
        among candidates: [Candidate],
        prefixes: Bool
    ) throws -> Candidate {
        if let candidate = candidates.first(where: { $0.identifier == text.lowercased() }) { return candidate }
        let named = candidates.filter { $0.name == text }
        if let own = named.first(where: \.isOwn) { return own }
        if let candidate = try single(named, of: text) { return candidate }
        let begun = text.isEmpty ? [] : candidates.filter { $0.begins(with: text) }
        if prefixes, let candidate = try single(begun, of: text) { return candidate }
        var remedy = NearestName.hint(for: text, among: candidates.map(\.name))
        if !prefixes, begun.count == 1 {
            remedy = "Did you mean \(begun[0].name)? This command takes whole names only, never a prefix."
        }
        throw ControlError(
            .configurationUnknown,
            "There is no configuration \"\(text)\".",
            remedy: remedy ?? "`tunnelctl list` shows the names."
        )
    }

    private static func single(_ found: [Candidate], of text: String) throws(UsageError) -> Candidate? {
        guard found.count > 1 else { return found.first }
        let list = found.prefix(10).map { "\($0.name) of \($0.owner) (\($0.identifier))" }.joined(separator: ", ")
        let more = found.count > 10 ? ", and \(found.count - 10) more" : ""
        throw UsageError(
            "\"\(text)\" fits \(found.count) configurations: \(list)\(more).",
            hint: "Give the identifier of the one that you mean in place of the name: \(found[0].identifier)"
        )
    }
}

extension NameMatch.Candidate {
    fileprivate func begins(with text: String) -> Bool {
        name.hasPrefix(text) || identifier.hasPrefix(text.lowercased())
    }
}
