import ControlAPI

/// Finds out what somebody meant by a line that can't be read.
enum LineProblem {
    /// Keys of AmneziaWG, whose files look like WireGuard's but need another protocol.
    private static let amneziaKeys: Set<String> = [
        "jc", "jmin", "jmax", "s1", "s2", "s3", "s4", "h1", "h2", "h3", "h4", "i1", "i2", "i3", "i4", "i5", "j1", "j2",
        "j3", "itime",
    ]

    /// - Parameter equals: where the first "=" stands, if there is one.
    static func of(_ text: ArraySlice<UInt8>, equals: Int?, section: FileKey.Section?) -> ValueProblem {
        let commentHint = "A comment begins with #."
        if text.first == UInt8(ascii: ";") { return ValueProblem("begins with ;", hint: commentHint) }
        if text.starts(with: "//".utf8) { return ValueProblem("begins with //", hint: commentHint) }
        let word = text.prefix { !$0.isBlank && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "=") }
        if let key = FileKey.named(word)?.rawValue {
            return ValueProblem("no = follows \(key)", hint: "Write it as in \(key) = value.")
        }
        guard let equals else { return ValueProblem("the line has no =", hint: "Write it as in Address = value.") }
        let key = text[..<equals].trimmed
        if key.isEmpty { return ValueProblem("nothing stands before the =", hint: "Write the key there.") }
        let place = section.map { "[\($0.rawValue)]" } ?? "any section"
        if key.count <= 5, amneziaKeys.contains(key.lowercasedText) {
            return ValueProblem("\(key.text) is no key of WireGuard", hint: "AmneziaWG's protocol isn't spoken here.")
        }
        let near = NearestName.find(
            String(decoding: key, as: UTF8.self),
            among: FileKey.names(startingWith: section ?? .interface)
        )
        // What is near a known key is no secret.
        let isShown = ShownText.isHarmless(key) || near != nil && key.allSatisfy { (0x20...0x7e).contains($0) }
        let shown = isShown ? "\"\(key.text)\"" : "a word of \(ShownText.count(key.count, "byte"))"
        let hint = hasInvisible(key) ? invisibleHint : near.map { "Did you mean \($0)?" }
        return ValueProblem("\(shown) is no key of \(place)", hint: hint)
    }

    static func ofSection(_ name: ArraySlice<UInt8>) -> ValueProblem {
        let names = FileKey.Section.allCases.map(\.rawValue)
        let near = NearestName.find(String(decoding: name, as: UTF8.self), among: names)
        let hint = near.map { "Did you mean [\($0)]?" } ?? "The sections are [Interface] and [Peer]."
        return ValueProblem("\(ShownText.of(name)) is no section", hint: hint)
    }

    /// What is probably wrong with a value that can't be read, whatever its key.
    static func hint(for value: ArraySlice<UInt8>) -> String? {
        if let next = gluedLine(in: value) { return "A new line seems to be missing before \(next)." }
        if hasInvisible(value) { return invisibleHint }
        if value.contains(UInt8(ascii: ";")) {
            return "A ; neither separates items nor begins a comment: write , or #."
        }
        if let first = value.first, first == UInt8(ascii: "\"") || first == UInt8(ascii: "'"), value.last == first {
            return "Leave out the quotes."
        }
        let placeholders: [(UInt8, UInt8)] = [
            (UInt8(ascii: "<"), UInt8(ascii: ">")), (UInt8(ascii: "{"), UInt8(ascii: "}")),
        ]
        for (open, close) in placeholders where value.contains(open) && value.contains(close) {
            return "This seems to be a placeholder: write the real value."
        }
        return nil
    }

    private static let invisibleHint = "It has an invisible character, such as a no-break space: type the line anew."

    /// Whether there is a no-break space, a zero-width character or a direction mark, as web pages and chats add them.
    private static func hasInvisible(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.contains(where: { $0 >= 0x80 }) else { return false }
        return text.text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0xa0, 0x2000...0x200f, 0x2028...0x202f, 0x2060...0x206f, 0x3000, 0xfeff: true
            default: false
            }
        }
    }

    /// The key or section whose line goes on where this value should have ended; nil where there is none.
    private static func gluedLine(in value: ArraySlice<UInt8>) -> String? {
        let text = Array(value.map(\.asciiLowercased))
        // Looks at each "=" for a key before it, and at each "[" for a header.
        for (index, byte) in text.enumerated() {
            if byte == UInt8(ascii: "=") {
                let before = text[..<index].trimmed
                let key = FileKey.allCases.first {
                    before.reversed().starts(with: $0.rawValue.lowercased().utf8.reversed())
                }
                if let key { return key.rawValue }
            } else if byte == UInt8(ascii: "[") {
                let section = FileKey.Section.allCases.first {
                    text[(index + 1)...].trimmed.starts(with: $0.rawValue.lowercased().utf8)
                }
                if let section { return "[\(section.rawValue)]" }
            }
        }
        return nil
    }
}
