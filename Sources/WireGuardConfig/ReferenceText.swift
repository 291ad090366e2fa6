import NetworkTypes

/// Checks what stands in the place of a secret: a reference, and by no mistake the secret itself.
enum ReferenceText {
    private static let longest = 256

    static func parse(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> String {
        guard (1...longest).contains(text.count) else {
            throw ValueProblem("doesn't have 1 to \(longest) characters")
        }
        guard text.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw ValueProblem("has a blank, a control character or a character beyond ASCII")
        }
        if looksLikeKey(text) {
            throw ValueProblem("looks like a key itself", hint: "Keys belong in the keychain.")
        }
        return text.text
    }

    /// 43 or 44 characters of base64, or 64 of hexadecimal.
    private static func looksLikeKey(_ text: ArraySlice<UInt8>) -> Bool {
        if text.count == 2 * KeyText.byteCount { return text.allSatisfy(\.isHexadecimalDigit) }
        let bare = text.last == UInt8(ascii: "=") ? text.dropLast() : text
        return bare.count == KeyText.characterCount - 1
            && bare.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+/-_".utf8.contains($0) }
    }
}
