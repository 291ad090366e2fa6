import NetworkTypes
import Testing

/// Widths as terminals have them (wcwidth of a UTF-8 locale, and one picture for an emoji sequence).
@Suite struct DisplayWidthTests {
    @Test(
        arguments: [
            ("", 0), ("home", 4), ("Büro", 4), ("e\u{301}te\u{301}", 3), ("日本", 4), ("日本-vpn", 8), ("한국어", 6),
            ("\u{1112}\u{1161}\u{11AB}", 2), ("ﾃｽﾄ", 3), ("テスト", 6), ("Ａ１", 4), ("。", 2), ("😀", 2), ("👩\u{200D}💻", 2),
            ("👍🏽", 2), ("🇩🇪", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("⌚", 2), ("→", 1), ("ราคา", 4), ("שלום", 4), ("𠮷", 2),
            ("a\u{20DD}", 1), ("±", 1), ("z\u{335}\u{327}", 1),
        ] as [(String, Int)]
    )
    func `a text takes as many columns as a terminal gives it`(_ text: String, _ columns: Int) {
        #expect(text.displayWidth == columns)
    }
}
