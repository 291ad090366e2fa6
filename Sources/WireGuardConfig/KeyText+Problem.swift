import NetworkTypes

extension KeyText {
    /// Reads a key into the first 32 bytes of `output`.
    ///
    /// - Throws: a problem that tells position and length only, never the text.
    static func read(_ text: ArraySlice<UInt8>, into output: inout MutableRawSpan) throws(ValueProblem) {
        guard decode(text, into: &output) else { throw problem(of: text) }
    }

    /// What is wrong with a text that isn't a key.
    private static func problem(of text: ArraySlice<UInt8>) -> ValueProblem {
        let rule = "A key has exactly 44 characters and ends in =, as wg prints it."
        let first = { (matches: (UInt8) -> Bool) in text.firstIndex(where: matches).map { $0 - text.startIndex + 1 } }
        if let position = first(\.isBlank) {
            return ValueProblem("has a blank at position \(position)", hint: "Write the key without blanks.")
        }
        if text.count == 64, text.allSatisfy(\.isHexadecimalDigit) {
            return ValueProblem("is hexadecimal", hint: "Write the key in base64. \(rule)")
        }
        if let position = first({ $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) {
            return ValueProblem(
                "has a - or _ at position \(position)",
                hint: "That is the URL-safe alphabet: write + for - and / for _."
            )
        }
        let padding = text.dropLast().firstIndex(of: UInt8(ascii: "=")).map { $0 - text.startIndex + 1 }
        if let position = first({ !isOfAlphabet($0) && $0 != UInt8(ascii: "=") }) {
            return ValueProblem("has a character that isn't base64 at position \(position)", hint: rule)
        }
        guard text.count == characterCount else {
            return ValueProblem("has \(ShownText.count(text.count, "character"))", hint: rule)
        }
        if let padding { return ValueProblem("has a = at position \(padding)", hint: rule) }
        guard text.last == UInt8(ascii: "=") else { return ValueProblem("doesn't end in =", hint: rule) }
        return ValueProblem(
            "ends in a character that no key of 32 bytes has before its =",
            hint: "It was mistyped or cut: copy it again."
        )
    }
}
