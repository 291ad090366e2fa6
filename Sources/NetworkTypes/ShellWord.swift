extension String {
    /// The text as one word for a shell (POSIX.1, section 2.2.2): as it is where that is safe, else in single quotes.
    package var shellQuoted: String {
        let isPlain = !isEmpty && first != "~" && utf8.allSatisfy(Self.isPlainInShell)
        return isPlain
            ? self : "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// A path as one word for a shell, and none that a program takes for an option.
    package var shellQuotedPath: String { (hasPrefix("-") ? "./" + self : self).shellQuoted }

    private static func isPlainInShell(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "_-+./:@%,~".utf8.contains(byte)
        }
    }
}
