/// How wide a text is on a terminal.
extension String {
    /// How many columns a terminal gives it: two for a wide character or an emoji, none for a mark that stands on another.
    ///
    /// Counts what `escapedForTerminal` lets through. Source: Unicode Standard Annex 11 (East Asian Width) and Technical
    /// Standard 51 (emoji), as Unicode 15 has them; independent of the locale.
    package var displayWidth: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + $1.displayWidth }
    }
}

extension Character {
    fileprivate var displayWidth: Int {
        // What is joined to an emoji (a tone, a flag's second letter, another emoji) makes one picture.
        if unicodeScalars.contains(where: \.isDrawnAsEmoji) { return 2 }
        return unicodeScalars.reduce(0) { $0 + $1.displayWidth }
    }
}

extension Unicode.Scalar {
    /// U+FE0F asks for the form of an emoji.
    fileprivate var isDrawnAsEmoji: Bool { value == 0xfe0f || value >= 0x2000 && properties.isEmojiPresentation }

    fileprivate var displayWidth: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if Self.isInside(Self.joined, value) { return 0 }
        return Self.isInside(Self.wide, value) ? 2 : 1
    }

    private static func isInside(_ ranges: [ClosedRange<UInt32>], _ value: UInt32) -> Bool {
        // There are few, in order.
        for range in ranges where value <= range.upperBound { return value >= range.lowerBound }
        return false
    }

    /// Vowels and final consonants of Hangul, which are drawn into the syllable.
    private static let joined: [ClosedRange<UInt32>] = [0x1160...0x11ff, 0xd7b0...0xd7fb]

    /// East Asian Width W or F, without the emoji: Hangul, ideographs, kana, full-width forms and the like.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x3247, 0x3250...0x4dbf, 0x4e00...0xa4c6,
        0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6b, 0xff01...0xff60,
        0xffe0...0xffe6, 0x16fe0...0x16ff1, 0x17000...0x18d08, 0x1aff0...0x1b2fb, 0x1f200...0x1f265,
        0x20000...0x2fffd, 0x30000...0x3fffd,
    ]
}
