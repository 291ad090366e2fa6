/// What became of each line of an imported file.
package struct ImportReport: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// Stored as it was written.
        case kept
        /// Stored, but written otherwise than in the file; the text says how.
        case changed
        /// Stored at most for display and export: it has no effect, and the text says why.
        case ignored
        /// Stored, but probably not what was meant; an error where the caller is strict.
        case warning
    }

    package struct Entry: Codable, Equatable, Sendable, CustomStringConvertible {
        /// From 1; 0 for the file as a whole.
        package let line: Int
        /// "AllowedIPs"; nil for a section's header and for comments.
        package let key: String?
        package let kind: Kind
        /// Never holds a secret.
        package let text: String

        package init(line: Int, key: String?, kind: Kind, text: String) {
            self.line = line
            self.key = key
            self.kind = kind
            self.text = text
        }

        /// One line of text: "line 4: FwMark: ignored: kept for export only".
        package var description: String {
            (line > 0 ? "line \(line): " : "") + (key.map { "\($0): " } ?? "") + "\(kind.rawValue): \(text)"
        }
    }

    /// By line.
    package private(set) var entries: [Entry] = []
    /// So many more were not listed: `maximumEntries` is the limit.
    package private(set) var omittedEntries = 0
    /// Private keys taken out of the file: 0 or 1.
    package internal(set) var privateKeys = 0
    package internal(set) var presharedKeys = 0
    package internal(set) var peers = 0

    package static let maximumEntries = 50_000

    package init() {}

    package var warnings: [Entry] { entries.filter { $0.kind == .warning } }

    /// "1 private key and 2 pre-shared keys moved to the keychain"; nil where there were none.
    package var secretsSummary: String? {
        var parts: [String] = []
        if privateKeys > 0 { parts.append(ShownText.count(privateKeys, "private key")) }
        if presharedKeys > 0 { parts.append(ShownText.count(presharedKeys, "pre-shared key")) }
        return parts.isEmpty ? nil : parts.joined(separator: " and ") + " moved to the keychain"
    }

    /// Adds an entry; callers add what they alone know, such as the file's permissions.
    package mutating func add(_ kind: Kind, line: Int = 0, key: String? = nil, _ text: String) {
        guard entries.count < Self.maximumEntries else {
            omittedEntries += 1
            return
        }
        entries.append(Entry(line: line, key: key, kind: kind, text: text))
    }

    /// Says of an earlier line of the same key that a later one has taken its place.
    mutating func supersede(key: String, line: Int, by later: Int) {
        // Beyond the limit the earlier line may not be listed, and looking for it each time would take long.
        guard omittedEntries == 0,
            let index = entries.lastIndex(where: { $0.line == line && $0.key == key && $0.kind != .warning })
        else { return }
        let text = "replaced by line \(later)"
        entries[index] = Entry(line: line, key: key, kind: .ignored, text: text)
    }

    mutating func sort() {
        let order = entries.indices.sorted { (entries[$0].line, $0) < (entries[$1].line, $1) }
        entries = order.map { entries[$0] }
    }
}
