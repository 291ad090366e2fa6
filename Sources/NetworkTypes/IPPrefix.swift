/// An address with the number of its leading bits that name the network ("10.0.0.1/24").
///
/// The host bits are kept as they were given: an interface's address has them. `network` has them cleared.
package struct IPPrefix: Hashable, Comparable, Sendable {
    package let address: IPAddress
    /// 0 to 32, or 0 to 128.
    package let length: Int

    /// - Returns: nil where `length` does not fit the address's family.
    package init?(_ address: IPAddress, length: Int) {
        guard (0...address.bitCount).contains(length) else { return nil }
        self.address = address
        self.length = length
    }

    private init(unchecked address: IPAddress, _ length: Int) {
        self.address = address
        self.length = length
    }

    /// The prefix that holds this address alone: /32 or /128.
    package init(host address: IPAddress) { self.init(unchecked: address, address.bitCount) }

    package static let allIPv4 = IPPrefix(unchecked: .v4(.any), 0)
    package static let allIPv6 = IPPrefix(unchecked: .v6(.any), 0)

    /// The same prefix with all host bits cleared.
    package var network: IPPrefix {
        switch address {
        case .v4(let v4):
            let mask: UInt32 = length == 0 ? 0 : ~0 << UInt32(32 - length)
            return IPPrefix(unchecked: .v4(IPv4Address(v4.value & mask)), length)
        case .v6(let v6):
            let high: UInt64 = length == 0 ? 0 : length >= 64 ? ~0 : ~0 << UInt64(64 - length)
            let low: UInt64 = length <= 64 ? 0 : ~0 << UInt64(128 - length)
            return IPPrefix(unchecked: .v6(IPv6Address(high: v6.high & high, low: v6.low & low)), length)
        }
    }

    /// Whether no bit beyond the length is set.
    package var isNetwork: Bool { network == self }

    package func contains(_ other: IPAddress) -> Bool {
        guard other.isIPv6 == address.isIPv6 else { return false }
        return IPPrefix(unchecked: other, length).network == network
    }

    package static func < (a: IPPrefix, b: IPPrefix) -> Bool { (a.address, a.length) < (b.address, b.length) }
}

extension IPPrefix: LosslessStringConvertible {
    package var description: String { "\(address)/\(length)" }

    /// Reads "address/length", or an address alone as the prefix of just that host.
    package init?(_ text: String) {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else {
            guard let address = IPAddress(text) else { return nil }
            self.init(host: address)
            return
        }
        let digits = text[text.index(after: slash)...]
        guard let address = IPAddress(String(text[..<slash])), (1...3).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            digits.utf8.count == 1 || digits.utf8.first != UInt8(ascii: "0"), let length = Int(digits)
        else { return nil }
        self.init(address, length: length)
    }
}
