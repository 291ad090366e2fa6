/// Text of others (names, errors, hooks) as it may be shown: it can't steer a terminal, fake another line, or look like
/// another text.
extension String {
    /// The text with everything that a terminal obeys or doesn't show as escapes ("\u{1B}"); the rest as it is.
    package var escapedForTerminal: String {
        guard hasHiddenCharacters else { return self }
        var out = ""
        for (scalar, isHidden) in judgedScalars {
            switch scalar {
            case "\n": out += "\\n"
            case "\t": out += "\\t"
            case "\r": out += "\\r"
            case _ where isHidden: out += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// JSON text with the same characters as JSON's own escapes; what it means stays the same.
    package var escapedInsideJSON: String {
        // What is left of ASCII is JSON's own: line breaks.
        guard utf8.contains(where: { $0 >= 0x7f }), hasHiddenCharacters else { return self }
        var out = ""
        for (scalar, isHidden) in judgedScalars {
            if isHidden, scalar.value >= 0x7f {
                for unit in UTF16.encode(scalar) ?? .init() {
                    let digits = String(unit, radix: 16)
                    out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// Whether there is something that a terminal obeys or doesn't show.
    package var hasHiddenCharacters: Bool {
        !utf8.allSatisfy { (0x20...0x7e).contains($0) } && judgedScalars.contains(where: \.isHidden)
    }

    /// Each scalar, and whether it is hidden.
    private var judgedScalars: [(scalar: Unicode.Scalar, isHidden: Bool)] {
        let scalars = Array(unicodeScalars)
        return scalars.indices.map { index in
            let before = index > 0 ? scalars[index - 1] : nil
            let after = index + 1 < scalars.count ? scalars[index + 1] : nil
            return (scalars[index], scalars[index].isHidden(between: before, and: after))
        }
    }
}

extension Unicode.Scalar {
    /// Whether a reader can't see it: a control character, one that turns the direction of writing, or one without a shape.
    ///
    /// Joiners, which some scripts and emoji need, and the forms of symbols pass where they have an effect that is seen.
    fileprivate func isHidden(between before: Unicode.Scalar?, and after: Unicode.Scalar?) -> Bool {
        switch value {
        case 0x20...0x7e: return false
        case 0x200c, 0x200d: return !(before?.isJoined ?? false) || !(after?.isJoined ?? false)
        case 0xfe0e, 0xfe0f: return !(before?.isSymbol ?? false)
        default: break
        }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether its shape may depend on a joiner beside it: letters from the Arabic block on, and emoji.
    private var isJoined: Bool {
        value >= 0x0600 && (properties.isAlphabetic || isSymbol || properties.isEmojiModifier || value == 0xfe0f)
            || properties.generalCategory == .nonspacingMark && value >= 0x0600
    }

    private var isSymbol: Bool { value >= 0x2000 && properties.isEmoji }
}
