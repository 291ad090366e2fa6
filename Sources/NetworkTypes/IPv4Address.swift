/// An IPv4 address.
package struct IPv4Address: Hashable, Comparable, Sendable {
    /// The address as a number: 10.0.0.1 is 0x0a00_0001 on every machine.
    package let value: UInt32

    package init(_ value: UInt32) { self.value = value }

    package init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        value = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
    }

    package static let any = IPv4Address(0)
    package static let loopback = IPv4Address(127, 0, 0, 1)

    package static func < (a: IPv4Address, b: IPv4Address) -> Bool { a.value < b.value }

    /// The four bytes in the order in which they stand in a packet.
    package var bytes: [UInt8] {
        [
            UInt8(truncatingIfNeeded: value >> 24), UInt8(truncatingIfNeeded: value >> 16),
            UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value),
        ]
    }
}

extension IPv4Address: LosslessStringConvertible {
    package var description: String { bytes.map(String.init).joined(separator: ".") }

    /// Reads dotted-decimal notation: four numbers of 0 to 255, without leading zeros (some readers take those for octal).
    package init?(_ text: String) {
        self.init(utf8: text.utf8)
    }

    init?(utf8 text: some Collection<UInt8>) {
        var value: UInt32 = 0
        var part: UInt32 = 0
        var digits = 0
        var dots = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard digits == 0 || part != 0 else { return nil }
                part = part * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard part <= 255 else { return nil }
            case UInt8(ascii: "."):
                guard digits > 0, dots < 3 else { return nil }
                value = value << 8 | part
                part = 0
                digits = 0
                dots += 1
            default:
                return nil
            }
        }
        guard dots == 3, digits > 0 else { return nil }
        self.init(value << 8 | part)
    }
}
