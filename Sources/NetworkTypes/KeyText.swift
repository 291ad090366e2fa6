/// The text form of a 32-byte key: 44 characters of base64 (RFC 4648, section 4), the last of them "=".
///
/// Neither direction branches on a key's bytes or looks anything up with them, so the time taken tells nothing about a
/// secret key. A text that stands for a secret is as secret as the key: it must reach no log and no error.
package enum KeyText {
    package static let byteCount = 32
    package static let characterCount = 44

    /// The text of a key.
    package static func encode(_ key: some Collection<UInt8>) -> String {
        precondition(key.count == byteCount, "a key has 32 bytes")
        var text: [UInt8] = []
        let bytes = Array(key)
        encode(unsafe bytes.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the 44 characters of a 32-byte key; nothing for any other length.
    package static func encode(_ key: RawSpan, to output: inout [UInt8]) {
        guard key.byteCount == byteCount else { return }
        for start in stride(from: 0, to: byteCount, by: 3) {
            var group: UInt32 = 0
            for index in start..<start + 3 {
                group = group << 8 | (index < byteCount ? UInt32(byte(of: key, at: index)) : 0)
            }
            for shift: UInt32 in [18, 12, 6, 0] { output.append(character(UInt8(group >> shift & 63))) }
        }
        // The last group had only two bytes: its fourth character is padding.
        output[output.count - 1] = UInt8(ascii: "=")
    }

    /// The 32 bytes of a key's text.
    ///
    /// - Returns: nil for what `decode(_:into:)` refuses.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: byteCount)
        var span = key.mutableSpan
        var output = unsafe span.mutableBytes
        return decode(ArraySlice(text.utf8), into: &output) ? key : nil
    }

    /// Reads a key into the first 32 bytes of `output`.
    ///
    /// - Returns: false unless the text is exactly what `encode` writes for some key: no white space, no other alphabet, and
    ///   the two bits that no byte needs are zero (as wg(8) demands); then `output` holds nothing of use.
    package static func decode(_ text: ArraySlice<UInt8>, into output: inout MutableRawSpan) -> Bool {
        guard text.count == characterCount, text.last == UInt8(ascii: "=") else { return false }
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
        return invalid >= 0 && group & 3 == 0
    }

    /// Whether a character is one of the alphabet's 64.
    package static func isOfAlphabet(_ character: UInt8) -> Bool { sextet(character) >= 0 }

    private static func byte(of key: RawSpan, at index: Int) -> UInt8 {
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
}
