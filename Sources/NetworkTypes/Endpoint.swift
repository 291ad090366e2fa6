/// Where a peer's datagrams go to or came from: an address, a UDP port and, for link-local IPv6, a zone.
package struct Endpoint: Hashable, Sendable {
    package let address: IPAddress
    package let port: UInt16
    /// The interface index of a link-local IPv6 address (`sin6_scope_id`, ipv6(7)); 0 for none.
    package let zone: UInt32

    package init(_ address: IPAddress, port: UInt16, zone: UInt32 = 0) {
        self.address = address
        self.port = port
        self.zone = zone
    }
}

extension Endpoint: LosslessStringConvertible {
    /// "192.0.2.1:51820" or "[fe80::1%3]:51820", with the zone as an index.
    package var description: String {
        switch address {
        case .v4(let v4): "\(v4):\(port)"
        case .v6(let v6): zone == 0 ? "[\(v6)]:\(port)" : "[\(v6)%\(zone)]:\(port)"
        }
    }

    /// Reads what `description` writes.
    ///
    /// A port is 0 to 65535 in decimal digits. Names are no endpoints.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            let port = UInt16(decimal: text[text.index(after: colon)...])
        else { return nil }
        let host = text[..<colon]
        if let v4 = IPv4Address(String(host)) {
            self.init(.v4(v4), port: port)
            return
        }
        guard host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"), host.utf8.count > 2 else {
            return nil
        }
        let inner = host.dropFirst().dropLast()
        let percent = inner.utf8.firstIndex(of: UInt8(ascii: "%")) ?? inner.endIndex
        guard let v6 = IPv6Address(String(inner[..<percent])) else { return nil }
        guard percent < inner.endIndex else {
            self.init(.v6(v6), port: port)
            return
        }
        guard let zone = UInt32(decimal: inner[inner.index(after: percent)...]) else { return nil }
        self.init(.v6(v6), port: port, zone: zone)
    }
}

extension FixedWidthInteger {
    /// Reads decimal digits and nothing else (`init(_:)` would also take a sign).
    package init?(decimal digits: some StringProtocol) {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        self.init(digits, radix: 10)
    }
}
