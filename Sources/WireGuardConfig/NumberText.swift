/// Reads whole numbers, with a reason for whatever is wrong.
enum NumberText {
    /// Decimal digits and nothing else.
    ///
    /// - Parameter hint: for what isn't a number at all.
    static func parse(_ text: ArraySlice<UInt8>, in range: ClosedRange<Int>, hint: String) throws(ValueProblem) -> Int {
        let shown = ShownText.of(text)
        guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit) else {
            throw ValueProblem("\(shown) isn't a whole number", hint: hint)
        }
        guard let value = Int(text.text), range.contains(value) else {
            throw ValueProblem("\(shown) isn't from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// Decimal, or hexadecimal after `0x` or `0X`; nil for anything else and for what has more than 32 bits.
    static func parse32(_ text: ArraySlice<UInt8>) -> UInt32? {
        if text.count > 2, text.first == UInt8(ascii: "0"), text.dropFirst().first?.asciiLowercased == UInt8(ascii: "x")
        {
            let digits = text.dropFirst(2)
            return digits.allSatisfy(\.isHexadecimalDigit) ? UInt32(digits.text, radix: 16) : nil
        }
        guard !text.isEmpty, text.allSatisfy(\.isASCIIDigit) else { return nil }
        return UInt32(text.text)
    }

    /// `MTU`: 576 is the least that every IPv4 host takes whole (RFC 791); IPv6 needs more, see `mtuProblem`.
    static func parseMTU(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> Int {
        try parse(text, in: mtuRange, hint: "Leave the line out to have it computed.")
    }

    static let mtuRange = 576...65535
    /// The least MTU of a link that carries IPv6 (RFC 8200, section 5).
    static let leastMTUWithIPv6 = 1280

    /// `ListenPort`: 0 leaves the choice to the system.
    static func parseListenPort(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> UInt16 {
        UInt16(truncatingIfNeeded: try parse(text, in: 0...65535, hint: "Service names aren't looked up here."))
    }

    /// `PersistentKeepalive`: seconds; 0 is `off`.
    static func parseKeepalive(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> UInt16 {
        if text.equalsIgnoringCase("off") { return 0 }
        let hint = "Write seconds without a unit, or off."
        return UInt16(truncatingIfNeeded: try parse(text, in: 0...65535, hint: hint))
    }

    /// The text of a keepalive in a file.
    static func keepalive(_ seconds: UInt16) -> String { seconds == 0 ? "off" : "\(seconds)" }

    /// The text of a mark in a file.
    static func firewallMark(_ mark: UInt32) -> String { mark == 0 ? "off" : "0x\(String(mark, radix: 16))" }

    /// `FwMark`: 0 is `off`.
    static func parseFirewallMark(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> UInt32 {
        if text.equalsIgnoringCase("off") { return 0 }
        guard let mark = parse32(text) else {
            throw ValueProblem(
                "\(ShownText.of(text)) isn't a mark of 32 bits",
                hint: "Write it in decimal, or in hexadecimal after 0x, or off."
            )
        }
        return mark
    }
}
