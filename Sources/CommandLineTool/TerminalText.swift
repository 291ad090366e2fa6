extension String {
    /// Control characters, and those that turn the direction of writing, as escapes ("\u{1B}"); the rest as it is.
    ///
    /// Text of others (names, errors, hooks) that was treated so can't steer the terminal or fake another line.
    package var escapedForTerminal: String {
        guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
        var out = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": out += "\\n"
            case "\t": out += "\\t"
            case "\r": out += "\\r"
            case _ where scalar.steersTerminal: out += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension Unicode.Scalar {
    fileprivate var steersTerminal: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        }
    }
}
