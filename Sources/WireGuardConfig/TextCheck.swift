/// Finds what no text may contain: NUL, other control characters than blanks, bytes that aren't UTF-8.
///
/// Control characters are refused because values are shown on terminals, which obey some of them.
enum TextCheck {
    /// Whether a file is text, perhaps with a few wrong bytes: of another one each line would be a fault.
    ///
    /// Judged by control characters, which a text of whatever encoding but UTF-16 hasn't.
    static func isText(_ file: [UInt8]) -> Bool {
        let count = file.count { $0 < 0x20 && !$0.isBlank && $0 != 0x0a && $0 != 0x0d || $0 == 0x7f }
        return count < 4 || count < file.count / 50
    }

    /// - Parameter whole: what the positions count from, for the message: "line".
    static func problem(of text: ArraySlice<UInt8>, in whole: StaticString) -> ValueProblem? {
        var isASCII = true
        var offset = -1
        for byte in text {
            offset += 1
            if byte == 0 {
                return ValueProblem("has a NUL at byte \(offset + 1) of the \(whole)", hint: "Remove it.")
            }
            if (byte < 0x20 && !byte.isBlank) || byte == 0x7f { return control(at: offset, in: whole) }
            if byte >= 0x80 { isASCII = false }
        }
        return isASCII ? nil : problemBeyondASCII(text, in: whole)
    }

    private static func problemBeyondASCII(_ text: ArraySlice<UInt8>, in whole: StaticString) -> ValueProblem? {
        var bytes = text.makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &bytes) {
            case .valid(let scalar):
                // U+0080 to U+009F, which begin with C2, are control characters as well.
                let start = text.startIndex + offset
                if scalar.count == 2, text[start] == 0xc2, text[start + 1] < 0xa0 {
                    return control(at: offset, in: whole)
                }
                offset += scalar.count
            case .error:
                return ValueProblem("isn't UTF-8 at byte \(offset + 1) of the \(whole)", hint: "Save it as UTF-8.")
            case .emptyInput:
                return nil
            }
        }
    }

    private static func control(at offset: Int, in whole: StaticString) -> ValueProblem {
        ValueProblem("has a control character at byte \(offset + 1) of the \(whole)", hint: "Remove it.")
    }
}
