/// An IPv6 address without a zone; the zone belongs to an `Endpoint`.
package struct IPv6Address: Hashable, Comparable, Sendable {
    /// The first eight bytes as a number: for fd00::1 it is 0xfd00_0000_0000_0000.
    package let high: UInt64
    /// The last eight bytes as a number.
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Takes 16 bytes in packet order; nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            if index < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
        }
        self.init(high: high, low: low)
    }

    package static let any = IPv6Address(high: 0, low: 0)
    package static let loopback = IPv6Address(high: 0, low: 1)

    /// Whether the address is in fe80::/10 (RFC 4291, section 2.5.6) and so needs a zone to be reached.
    package var isLinkLocal: Bool { high >> 54 == 0xfe80 >> 6 }

    /// The IPv4 address that ::ffff:a.b.c.d stands for (RFC 4291, section 2.5.5.2); nil for all others.
    package var mappedIPv4: IPv4Address? {
        high == 0 && low >> 32 == 0xffff ? IPv4Address(UInt32(truncatingIfNeeded: low)) : nil
    }

    package static func < (a: IPv6Address, b: IPv6Address) -> Bool { (a.high, a.low) < (b.high, b.low) }

    /// The 16 bytes in the order in which they stand in a packet.
    package var bytes: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - ($0 & 7) * 8)) }
    }

    private var groups: [UInt16] {
        (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - ($0 & 3) * 16)) }
    }

    private init(groups: [UInt16]) {
        self.init(
            high: groups[0..<4].reduce(0) { $0 << 16 | UInt64($1) },
            low: groups[4..<8].reduce(0) { $0 << 16 | UInt64($1) }
        )
    }
}

extension IPv6Address: LosslessStringConvertible {
    /// The canonical text of RFC 5952: lower case, the longest run of two or more zero groups shortened, the first on a tie.
    package var description: String {
        let groups = groups
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > best.count, end - start >= 2 { best = start..<end }
            start = max(end, start) + 1
        }
        // ::ffff:a.b.c.d (RFC 5952, section 5).
        if let mappedIPv4 { return "::ffff:\(mappedIPv4)" }
        let text = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
        if best.isEmpty { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }

    /// Reads the notations of RFC 4291, section 2.2, the last group also as an IPv4 address.
    ///
    /// No zone, no brackets.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let colon = UInt8(ascii: ":")
        var groups: [UInt16] = []
        var gap: Int?
        var index = 0
        if bytes.starts(with: [colon, colon]) {
            gap = 0
            index = 2
        }
        while index < bytes.count {
            let end = bytes[index...].firstIndex(of: colon) ?? bytes.count
            let part = bytes[index..<end]
            if part.contains(UInt8(ascii: ".")) {
                guard end == bytes.count, groups.count <= 6, let v4 = IPv4Address(utf8: part) else { return nil }
                groups += [UInt16(truncatingIfNeeded: v4.value >> 16), UInt16(truncatingIfNeeded: v4.value)]
                index = end
                break
            }
            guard (1...4).contains(part.count), let group = UInt16(hexadecimal: part), groups.count < 8 else {
                return nil
            }
            groups.append(group)
            index = end
            guard index < bytes.count else { break }
            index += 1
            if index < bytes.count, bytes[index] == colon {
                guard gap == nil else { return nil }
                gap = groups.count
                index += 1
            } else if index == bytes.count {
                return nil
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        self.init(groups: groups)
    }
}

extension UInt16 {
    /// Reads up to four hexadecimal digits and nothing else (`init(_:radix:)` would also take a sign).
    fileprivate init?(hexadecimal digits: ArraySlice<UInt8>) {
        var value: UInt16 = 0
        for digit in digits {
            let number: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt16(number)
        }
        self = value
    }
}
