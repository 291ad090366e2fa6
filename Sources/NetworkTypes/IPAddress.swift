/// An address of either family.
package enum IPAddress: Hashable, Comparable, Sendable {
    case v4(IPv4Address)
    case v6(IPv6Address)

    package var isIPv6: Bool {
        if case .v6 = self { return true }
        return false
    }

    /// The length of the whole address in bits: 32 or 128.
    package var bitCount: Int { isIPv6 ? 128 : 32 }

    /// 4 or 16 bytes in packet order.
    package var bytes: [UInt8] {
        switch self {
        case .v4(let address): address.bytes
        case .v6(let address): address.bytes
        }
    }

    /// Takes 4 or 16 bytes in packet order; nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        if bytes.count == 4 {
            self = .v4(IPv4Address(bytes.reduce(0) { $0 << 8 | UInt32($1) }))
        } else if let address = IPv6Address(bytes: bytes) {
            self = .v6(address)
        } else {
            return nil
        }
    }
}

extension IPAddress: LosslessStringConvertible {
    package var description: String {
        switch self {
        case .v4(let address): address.description
        case .v6(let address): address.description
        }
    }

    package init?(_ text: String) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if let address = IPv6Address(text) {
            self = .v6(address)
        } else {
            return nil
        }
    }
}
