import NetworkTypes

/// Reads domain and host names, with a reason for whatever is wrong.
enum DomainText {
    /// The longest name in text form without a final dot (RFC 1035, section 2.3.4: 255 bytes on the wire).
    static let longestName = 253
    private static let longestLabel = 63

    /// A name of letters, digits, hyphens and underscores in labels of 1 to 63, perhaps with a final dot.
    static func parse(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> String {
        let shown = ShownText.of(text)
        if text.contains(where: { $0 >= 0x80 }) {
            throw ValueProblem(
                "has a name with characters beyond ASCII",
                hint: "Write the name in its ASCII form, which begins with xn--."
            )
        }
        if !KeyLikeText.ranges(in: text).isEmpty {
            throw ValueProblem("has a part that looks like a key", hint: "Write the name of a host or domain.")
        }
        let name = text.last == UInt8(ascii: ".") ? text.dropLast() : text
        guard !name.isEmpty, name.count <= longestName else {
            throw ValueProblem("\(shown) doesn't have the 1 to \(longestName) characters of a name")
        }
        for label in name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...longestLabel).contains(label.count) else {
                throw ValueProblem("\(shown) has an empty part, or one above \(longestLabel) characters")
            }
            guard label.allSatisfy(isOfName), label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else {
                throw ValueProblem("\(shown) is no name: it may have letters, digits, dots, and hyphens inside")
            }
        }
        return text.text
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

/// One item of `DNS`.
enum DNSWord {
    case server(IPAddress)
    case searchDomain(String)
    /// Without its "~"; "." is the root, which holds every name.
    case routeOnlyDomain(String)

    init(text: ArraySlice<UInt8>) throws(ValueProblem) {
        if text.first == UInt8(ascii: "~") {
            self = .routeOnlyDomain(try DNSWord.routeOnlyDomain(text.dropFirst()))
        } else if AddressText.looksLikeAddress(text) || text.contains(UInt8(ascii: "/")) {
            self = .server(try DNSWord.server(text))
        } else {
            self = .searchDomain(try DomainText.parse(text))
        }
    }

    /// 0 to 2: in this order an export has them.
    var rank: Int {
        switch self {
        case .server: 0
        case .searchDomain: 1
        case .routeOnlyDomain: 2
        }
    }

    static func server(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> IPAddress {
        if let address = AddressText.parse(text) {
            guard let use = PrefixText.specialUse(of: address) else { return address }
            throw ValueProblem("\(address) is \(use), which no server has")
        }
        let shown = ShownText.of(text)
        if text.contains(UInt8(ascii: "%")) {
            throw ValueProblem("\(shown) has a zone", hint: "A server of the tunnel is reached through the tunnel.")
        }
        if text.contains(UInt8(ascii: "/")) {
            throw ValueProblem("\(shown) has a /", hint: "Write a server's bare address.")
        }
        throw AddressText.problem(of: text)
    }

    static func searchDomain(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> String {
        if AddressText.looksLikeAddress(text) { throw ValueProblem("\(ShownText.of(text)) is no domain") }
        return try DomainText.parse(text)
    }

    static func routeOnlyDomain(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> String {
        if text.elementsEqual([UInt8(ascii: ".")]) { return "." }
        return try searchDomain(text)
    }
}

extension DNSWord: CustomStringConvertible {
    /// As it stands in a file.
    var description: String {
        switch self {
        case .server(let address): "\(address)"
        case .searchDomain(let domain): domain
        case .routeOnlyDomain(let domain): "~\(domain)"
        }
    }
}

extension WireGuardConfiguration.DNS {
    mutating func append(_ word: DNSWord) {
        switch word {
        case .server(let address): servers.append(address)
        case .searchDomain(let domain): searchDomains.append(domain)
        case .routeOnlyDomain(let domain): routeOnlyDomains.append(domain)
        }
    }

    /// The words in the order of an export.
    var words: [DNSWord] {
        servers.map(DNSWord.server) + searchDomains.map(DNSWord.searchDomain)
            + routeOnlyDomains.map(DNSWord.routeOnlyDomain)
    }
}
