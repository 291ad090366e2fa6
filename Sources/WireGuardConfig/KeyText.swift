/// The text form of a 32-byte key: 44 characters of standard base64 (RFC 4648, section 4), the last one "=".
///
/// Reading takes the same time for all good keys: no branch or memory access depends on a character's value.
enum KeyText {
    static let keyBytes = 32
    static let textBytes = 44

    /// Reads a key into the first 32 bytes of `output`.
    ///
    /// - Throws: a problem that tells position and length only, never the text.
    static func decode(_ text: ArraySlice<UInt8>, into output: inout MutableRawSpan) throws(ValueProblem) {
        guard text.count == textBytes, text.last == UInt8(ascii: "=") else { throw problem(of: text) }
        var invalid: Int32 = 0
        var group: UInt32 = 0
        var written = 0
        var position = 0
        for byte in text.dropLast() {
            let value = sextet(byte)
            invalid |= value
            group = group << 6 | UInt32(truncatingIfNeeded: value & 63)
            position += 1
            if position % 4 == 0 {
                store(group, bytes: 3, at: written, in: &output)
                written += 3
                group = 0
            }
        }
        // The 43rd character ends the 32nd byte and has two bits to spare, which must be zero.
        store(group << 6, bytes: 2, at: written, in: &output)
        if invalid < 0 || group & 3 != 0 { throw problem(of: text) }
    }

    /// Appends the 44 characters of a 32-byte key; nothing for any other length.
    static func encode(_ key: RawSpan, to output: inout [UInt8]) {
        guard key.byteCount == keyBytes else { return }
        for start in stride(from: 0, to: keyBytes, by: 3) {
            var group: UInt32 = 0
            for index in start..<start + 3 {
                group = group << 8 | (index < keyBytes ? UInt32(byte(of: key, at: index)) : 0)
            }
            for shift: UInt32 in [18, 12, 6, 0] { output.append(character(UInt8(group >> shift & 63))) }
        }
        // The last group had only two bytes: its fourth character is padding.
        output[output.count - 1] = UInt8(ascii: "=")
    }

    static func byte(of key: RawSpan, at index: Int) -> UInt8 {
        unsafe key.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }

    private static func store(_ group: UInt32, bytes: Int, at offset: Int, in output: inout MutableRawSpan) {
        for index in 0..<bytes {
            output.storeBytes(
                of: UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * index)),
                toByteOffset: offset + index,
                as: UInt8.self
            )
        }
    }

    /// 0 to 63, or -1 for a character outside the alphabet.
    private static func sextet(_ byte: UInt8) -> Int32 {
        let c = Int32(byte)
        var value: Int32 = -1
        value += within(c, 0x41, 0x5a) & (c - 0x41 + 1)
        value += within(c, 0x61, 0x7a) & (c - 0x61 + 26 + 1)
        value += within(c, 0x30, 0x39) & (c - 0x30 + 52 + 1)
        value += within(c, 0x2b, 0x2b) & (62 + 1)
        value += within(c, 0x2f, 0x2f) & (63 + 1)
        return value
    }

    private static func character(_ sextet: UInt8) -> UInt8 {
        let s = Int32(sextet)
        var value = within(s, 0, 25) & (s + 0x41)
        value |= within(s, 26, 51) & (s - 26 + 0x61)
        value |= within(s, 52, 61) & (s - 52 + 0x30)
        value |= within(s, 62, 62) & 0x2b
        value |= within(s, 63, 63) & 0x2f
        return UInt8(truncatingIfNeeded: value)
    }

    /// All ones where `low <= c <= high`, else zero, without a branch.
    private static func within(_ c: Int32, _ low: Int32, _ high: Int32) -> Int32 {
        ((low - 1 - c) & (c - high - 1)) >> 31
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
        if let position = first({ sextet($0) < 0 && $0 != UInt8(ascii: "=") }) {
            return ValueProblem("has a character that isn't base64 at position \(position)", hint: rule)
        }
        guard text.count == textBytes else {
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
