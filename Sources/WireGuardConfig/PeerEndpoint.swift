package import NetworkTypes

/// Where a peer is first looked for: a host, by name or address, and a UDP port.
package struct PeerEndpoint: Hashable, Sendable {
    package enum Host: Hashable, Sendable {
        /// Looked up when the tunnel starts, and again later; letters keep their case.
        case name(String)
        /// The zone is an interface's name or number (RFC 4007, section 11), only beside a link-local IPv6 address.
        case address(IPAddress, zone: String?)
    }

    package let host: Host
    /// 1 to 65535.
    package let port: UInt16

    /// - Returns: nil for what could not stand in a file: see `init(text:)`.
    package init?(_ host: Host, port: UInt16) {
        let candidate = PeerEndpoint(unchecked: host, port)
        guard (try? PeerEndpoint(text: ArraySlice(candidate.description.utf8))) == candidate else { return nil }
        self = candidate
    }

    private init(unchecked host: Host, _ port: UInt16) {
        self.host = host
        self.port = port
    }
}

extension PeerEndpoint: CustomStringConvertible {
    /// As it stands in a file: "vpn.example.com:51820", "192.0.2.1:51820", "[fe80::1%eth0]:51820".
    package var description: String {
        switch host {
        case .name(let name): "\(name):\(port)"
        case .address(.v4(let address), _): "\(address):\(port)"
        case .address(let address, nil): "[\(address)]:\(port)"
        case .address(let address, let zone?): "[\(address)%\(zone)]:\(port)"
        }
    }
}

extension PeerEndpoint {
    /// The longest name of an interface (`IFNAMSIZ` of linux/if.h without its final zero).
    private static let longestZone = 15
    private static let rule = "Write host:port, such as vpn.example.com:51820."

    init(text: ArraySlice<UInt8>) throws(ValueProblem) {
        if let problem = Self.commonMistake(in: text) { throw problem }
        guard let split = Self.split(text) else {
            throw ValueProblem("\(ShownText.of(text)) has no port", hint: Self.rule)
        }
        let port = try Self.port(split.port)
        self.init(unchecked: try Self.host(split.host), port)
    }

    /// At the last colon, which for an IPv6 address is the one behind its bracket.
    private static func split(_ text: ArraySlice<UInt8>) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>)? {
        guard let colon = text.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        if text.first == UInt8(ascii: "["), let bracket = text.lastIndex(of: UInt8(ascii: "]")), colon < bracket {
            return nil
        }
        return (text[..<colon], text[(colon + 1)...])
    }

    private static func port(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> UInt16 {
        let hint = "A port is a number from 1 to 65535; names of services aren't looked up here."
        if text.isEmpty { throw ValueProblem("has no port behind its colon", hint: rule) }
        guard text.allSatisfy(\.isASCIIDigit), let port = UInt16(text.text), port > 0 else {
            throw ValueProblem("has \(ShownText.of(text)) for its port", hint: hint)
        }
        return port
    }

    private static func host(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> Host {
        if text.isEmpty { throw ValueProblem("has no host before its colon", hint: rule) }
        let host: Host
        if text.first == UInt8(ascii: "[") {
            guard text.last == UInt8(ascii: "]") else {
                throw ValueProblem("has a [ without its ]", hint: "Write [IPv6 address]:port.")
            }
            host = try bracketed(text.dropFirst().dropLast())
        } else if AddressText.looksLikeAddress(text) {
            guard let address = AddressText.parse(text) else { throw AddressText.problem(of: text) }
            host = .address(address, zone: nil)
        } else {
            host = .name(try DomainText.parse(text))
        }
        if case .address(.v6(let address), _) = host, let inner = address.mappedIPv4 {
            throw ValueProblem(
                "\(address) is IPv4 in the form of IPv6, which can't be called",
                hint: "Write \(inner) without brackets."
            )
        }
        if case .address(let address, _) = host, let use = PrefixText.specialUse(of: address) {
            throw ValueProblem("\(address) is \(use), where no peer can be")
        }
        return host
    }

    private static func bracketed(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> Host {
        let percent = text.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
        let bare = text[..<percent]
        guard let address = AddressText.parse(bare), case .v6(let v6) = address else {
            if AddressText.parse(bare) != nil {
                throw ValueProblem("has an IPv4 address in brackets", hint: "Brackets are for IPv6: leave them out.")
            }
            throw ValueProblem("has \(ShownText.of(bare)) in brackets, which is no IPv6 address")
        }
        guard percent < text.endIndex else { return .address(address, zone: nil) }
        let zone = text[(percent + 1)...]
        guard v6.isLinkLocal else {
            throw ValueProblem(
                "has a zone behind an address that isn't link-local",
                hint: "Leave out the % and what follows."
            )
        }
        guard (1...longestZone).contains(zone.count), zone.allSatisfy(isOfZone) else {
            throw ValueProblem("has a zone that is no name of an interface", hint: "Write it as in [fe80::1%eth0].")
        }
        return .address(address, zone: zone.text)
    }

    private static func isOfZone(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && !"/%:[]\"#,".utf8.contains(byte)
    }

    /// Names the mistakes that people make most, which else would give a vague message.
    private static func commonMistake(in text: ArraySlice<UInt8>) -> ValueProblem? {
        if text.count > DomainText.longestName + 7 {
            return ValueProblem("is longer than any host and port", hint: rule)
        }
        if text.contains(UInt8(ascii: ",")) {
            return ValueProblem("has a comma", hint: "A peer has one endpoint. \(rule)")
        }
        if text.contains(where: \.isBlank) { return ValueProblem("has a blank inside", hint: rule) }
        if let mark = text.firstIndex(of: UInt8(ascii: "/")) {
            let before = text[..<mark]
            if before.last == UInt8(ascii: ":") {
                return ValueProblem("begins like a web address", hint: "Leave out what stands before the host. \(rule)")
            }
            if split(text) != nil, text[mark...].dropFirst().first?.isASCIIDigit == true {
                return ValueProblem("has a prefix length", hint: "Leave out the / and its number. \(rule)")
            }
            return ValueProblem("has a /", hint: "Leave out the / and what follows. \(rule)")
        }
        if text.contains(UInt8(ascii: "@")) {
            return ValueProblem("has an @", hint: "Leave out the user name. \(rule)")
        }
        if text.first != UInt8(ascii: "["), text.count(where: { $0 == UInt8(ascii: ":") }) > 1 {
            return ValueProblem(
                "has more than one colon outside brackets",
                hint: "Write an IPv6 address in brackets, as in [2001:db8::1]:51820."
            )
        }
        return nil
    }
}
