/// The text form of a 32-byte key: 44 characters of base64 (RFC 4648, section 4), the last of them "=".
///
/// Neither direction branches on a key's bytes or looks anything up with them, so the time taken tells nothing about a
/// secret key.
package enum KeyText {
    package static let byteCount = 32
    package static let characterCount = 44

    /// The text of a key.
    ///
    /// A text that stands for a secret is as secret as the key: it must reach no log and no error.
    package static func encode(_ key: some Collection<UInt8>) -> String {
        precondition(key.count == byteCount, "a key has 32 bytes")
        var text: [UInt8] = []
        text.reserveCapacity(characterCount)
        var bits: UInt32 = 0
        var have: UInt32 = 0
        for byte in key {
            bits = bits << 8 | UInt32(byte)
            have += 8
            while have >= 6 {
                have -= 6
                text.append(character(of: bits >> have & 63))
            }
        }
        text.append(character(of: bits << (6 - have) & 63))
        text.append(UInt8(ascii: "="))
        return String(decoding: text, as: UTF8.self)
    }

    /// The 32 bytes of a key's text.
    ///
    /// - Returns: nil unless the text is exactly what `encode` writes for some key: no white space, no other alphabet, and
    ///   the two bits that no byte needs are zero (as wg(8) demands).
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count == characterCount, characters.last == UInt8(ascii: "=") else { return nil }
        var key: [UInt8] = []
        key.reserveCapacity(byteCount)
        var bits: UInt32 = 0
        var have: UInt32 = 0
        var wrong: UInt32 = 0
        for character in characters.dropLast() {
            let value = sextet(of: character)
            wrong |= value >> 8
            bits = bits << 6 | value & 63
            have += 6
            guard have >= 8 else { continue }
            have -= 8
            key.append(UInt8(truncatingIfNeeded: bits >> have))
        }
        wrong |= bits & (1 << have - 1)
        return wrong == 0 ? key : nil
    }

    private static func character(of value: UInt32) -> UInt8 {
        // Starts at "A" and adds the gaps of the alphabet by masks: "Z" to "a", "z" to "0", "9" to "+", "+" to "/".
        var code = value &+ 65
        code &+= mask(25 &- Int32(bitPattern: value)) & 6
        code &-= mask(51 &- Int32(bitPattern: value)) & 75
        code &-= mask(61 &- Int32(bitPattern: value)) & 15
        code &+= mask(62 &- Int32(bitPattern: value)) & 3
        return UInt8(truncatingIfNeeded: code)
    }

    /// 0 to 63; 256 and more for what is no character of the alphabet.
    private static func sextet(of character: UInt8) -> UInt32 {
        var value: UInt32 = 0
        var known: UInt32 = 0
        for (first, last, start) in [(65, 90, 0), (97, 122, 26), (48, 57, 52), (43, 43, 62), (47, 47, 63)]
            as [(Int32, Int32, UInt32)]
        {
            let code = Int32(character)
            // All ones where first <= code <= last.
            let inside = ~mask(code &- first) & ~mask(last &- code)
            value |= inside & (UInt32(bitPattern: code &- first) &+ start)
            known |= inside
        }
        return value | ~known & 256
    }

    /// All ones for a negative number, else 0.
    private static func mask(_ number: Int32) -> UInt32 { UInt32(bitPattern: number >> 31) }
}
