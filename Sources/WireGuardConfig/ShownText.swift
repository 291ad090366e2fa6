/// How a message shows what somebody typed: in quotes where it can't be a part of a secret, else by its length.
///
/// A key may stand anywhere by mistake (pasted into the wrong line, split by a lost newline). So text is shown only if
/// it has no run of eight characters that could come out of a key in base64 or hexadecimal: addresses and short words
/// pass, keys and their pieces don't.
enum ShownText {
    private static let longestRun = 7
    private static let longestText = 64

    static func of(_ text: some Collection<UInt8>) -> String {
        isHarmless(text) ? "\"\(String(decoding: text, as: UTF8.self))\"" : "a value of \(count(text.count, "byte"))"
    }

    static func isHarmless(_ text: some Collection<UInt8>) -> Bool {
        guard text.count <= longestText else { return false }
        var run = 0
        for byte in text {
            guard (0x20...0x7e).contains(byte), byte != UInt8(ascii: "\"") else { return false }
            run = couldBeOfKey(byte) ? run + 1 : 0
            guard run <= longestRun else { return false }
        }
        return true
    }

    /// The alphabets of base64, its URL-safe form and hexadecimal.
    private static func couldBeOfKey(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// "1 key", "2 keys".
    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension UInt8 {
    var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(asciiLowercased) }
    var isHexadecimalDigit: Bool {
        isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(asciiLowercased)
    }
    /// A space, tab, vertical tab or form feed: what `isspace` of the reference parser takes besides line ends.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0b || self == 0x0c }
    var asciiLowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension ArraySlice<UInt8> {
    /// Without blanks at both ends.
    var trimmed: ArraySlice<UInt8> {
        var slice = self
        while let first = slice.first, first.isBlank { slice = slice.dropFirst() }
        while let last = slice.last, last.isBlank { slice = slice.dropLast() }
        return slice
    }

    /// Whether this is `word`, which is in lower case, without regard to ASCII case.
    func equalsIgnoringCase(_ word: StaticString) -> Bool {
        lowercasedText == word.description
    }

    /// The text with ASCII letters in lower case; meant for short words.
    var lowercasedText: String { String(decoding: map(\.asciiLowercased), as: UTF8.self) }

    var text: String { String(decoding: self, as: UTF8.self) }
}
