import NetworkTypes

/// Reads "address/length", the item of `Address` and `AllowedIPs`, with a reason for whatever is wrong.
enum PrefixText {
    /// Longer than any prefix: 45 characters of an IPv6 address, a slash and three digits.
    private static let longestText = 49

    static func parse(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> IPPrefix {
        if text.count <= longestText, let prefix = IPPrefix(text.text) { return prefix }
        throw problem(of: text)
    }

    /// The item of `Address`: also refuses what no interface may have.
    static func parseInterfaceAddress(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> IPPrefix {
        let prefix = try parse(text)
        if let use = specialUse(of: prefix.address) {
            throw ValueProblem("\(prefix.address) is \(use), which no interface can have")
        }
        return prefix
    }

    /// Whether all of it is a machine's own (127.0.0.0/8, ::1/128).
    static func isLoopback(_ prefix: IPPrefix) -> Bool {
        switch prefix.address {
        case .v4(let v4): v4.value >> 24 == 127 && prefix.length >= 8
        case .v6(let v6): v6 == .loopback && prefix.length == 128
        }
    }

    /// "the unspecified address" or "a multicast address"; nil for one that a host may have.
    static func specialUse(of address: IPAddress) -> String? {
        switch address {
        case .v4(let v4):
            if v4.value == 0 { return "the unspecified address" }
            if v4.value >> 28 == 0xe { return "a multicast address" }
            return v4.value == .max ? "the broadcast address" : nil
        case .v6(let v6):
            if v6 == .any { return "the unspecified address" }
            return v6.high >> 56 == 0xff ? "a multicast address" : nil
        }
    }

    private static func problem(of text: ArraySlice<UInt8>) -> ValueProblem {
        let shown = ShownText.of(text)
        if text.contains(where: \.isBlank) {
            return ValueProblem("\(shown) has a blank inside", hint: "Separate the items with commas.")
        }
        if text.first == UInt8(ascii: "+") || text.first == UInt8(ascii: "-") {
            return ValueProblem(
                "\(shown) begins with + or -",
                hint: "Those change a running device; in a file write the prefix alone."
            )
        }
        if text.contains(UInt8(ascii: "%")) {
            return ValueProblem("\(shown) has a zone", hint: "Leave out the % and what follows.")
        }
        if text.first == UInt8(ascii: "[") {
            return ValueProblem("\(shown) has brackets", hint: "Write the IPv6 address without brackets.")
        }
        guard text.count <= longestText, let slash = text.firstIndex(of: UInt8(ascii: "/")) else {
            return AddressText.problem(of: text)
        }
        if slash == text.startIndex {
            return ValueProblem("\(shown) has no address before its /", hint: "Write address/length without blanks.")
        }
        guard let address = IPAddress(text[..<slash].text) else { return AddressText.problem(of: text[..<slash]) }
        let length = text[(slash + 1)...]
        if IPv4Address(length.text) != nil {
            return ValueProblem(
                "\(shown) has a netmask for its length",
                hint: "Write the number of bits instead, such as /24."
            )
        }
        return ValueProblem(
            "\(shown) has a length that isn't a number from 0 to \(address.bitCount)",
            hint: "Write it as \(address)/\(address.bitCount == 32 ? 24 : 64), for example."
        )
    }
}

/// Reads a bare IPv4 or IPv6 address, with a reason for whatever is wrong.
enum AddressText {
    /// The longest text of an address (`INET6_ADDRSTRLEN` of netinet/in.h without its final zero).
    private static let longestText = 45

    static func parse(_ text: ArraySlice<UInt8>) -> IPAddress? {
        text.count <= longestText ? IPAddress(text.text) : nil
    }

    /// Whether somebody meant an address by this: it has a colon, or its last part is a number (no domain's is).
    ///
    /// Hexadecimal numbers count: some resolvers read "0x7f000001" as an address.
    static func looksLikeAddress(_ text: ArraySlice<UInt8>) -> Bool {
        if text.contains(UInt8(ascii: ":")) { return true }
        let name = text.last == UInt8(ascii: ".") ? text.dropLast() : text
        let last = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last ?? []
        if last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8) {
            return last.dropFirst(2).allSatisfy(\.isHexadecimalDigit)
        }
        return !last.isEmpty && last.allSatisfy(\.isASCIIDigit)
    }

    static func problem(of text: ArraySlice<UInt8>) -> ValueProblem {
        let shown = ShownText.of(text)
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.count == 4, parts.allSatisfy({ !$0.isEmpty && $0.count <= 9 && $0.allSatisfy(\.isASCIIDigit) }) {
            if parts.contains(where: { $0.count > 1 && $0.first == UInt8(ascii: "0") }) {
                return ValueProblem(
                    "\(shown) has a number with a leading zero",
                    hint: "Some programs read those as octal: write it without the zero."
                )
            }
            return ValueProblem("\(shown) has a number above 255")
        }
        if text.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            return ValueProblem("\(shown) is no address", hint: "Write the address without a port.")
        }
        return ValueProblem("\(shown) is neither an IPv4 nor an IPv6 address")
    }
}
