import NetworkTypes
import TestSupport
import Testing

@Suite struct ICMPErrorTests {
    /// A UDP datagram of 4 bytes, 10.20.0.1:4096 to 10.20.0.9:53, with a wish for low delay.
    private static let v4: [UInt8] =
        [0x45, 0x10, 0, 32, 0x12, 0x34, 0x40, 0, 64, 17, 0x14, 0x58, 10, 20, 0, 1, 10, 20, 0, 9]
        + [0x10, 0, 0, 53, 0, 12, 0, 0, 0xde, 0xad, 0xbe, 0xef]
    /// The same from fd20::1 to fd20::9.
    private static let v6: [UInt8] =
        [0x60, 0, 0, 0, 0, 12, 17, 64] + host6(1) + host6(9)
        + [0x10, 0, 0, 53, 0, 12, 0x12, 0x34, 0xde, 0xad, 0xbe, 0xef]

    @Test func `IPv4: host unreachable, byte by byte`() {
        // The checksums were worked out apart, by the rule of RFC 1071.
        let expected: [UInt8] =
            [0x45, 0xd0, 0, 60, 0, 0, 0x40, 0, 64, 1, 0x25, 0xc0, 10, 20, 0, 9, 10, 20, 0, 1]
            + [3, 1, 0x4f, 0x20, 0, 0, 0, 0] + Self.v4
        #expect(write(.unreachable, about: Self.v4) == expected)
    }

    @Test func `IPv4: fragmentation needed, byte by byte`() {
        let message = write(.tooBig(mtu: 1220), about: Self.v4)
        #expect(Array(message[20..<28]) == [3, 4, 0x4a, 0x59, 0, 0, 0x04, 0xc4])
        #expect(Array(message[28...]) == Self.v4)
        #expect(Array(message[..<20]) == Array(write(.unreachable, about: Self.v4)[..<20]))
    }

    @Test func `IPv6: address unreachable, byte by byte`() {
        let expected: [UInt8] =
            [0x60, 0, 0, 0, 0, 60, 58, 64] + host6(9) + host6(1) + [1, 3, 0xd8, 0x8f, 0, 0, 0, 0] + Self.v6
        #expect(write(.unreachable, about: Self.v6) == expected)
    }

    @Test func `IPv6: packet too big, byte by byte`() {
        let message = write(.tooBig(mtu: 1280), about: Self.v6)
        #expect(Array(message[40..<48]) == [2, 0, 0xd2, 0x92, 0, 0, 0x05, 0] && Array(message[48...]) == Self.v6)
        #expect(Array(message[..<40]) == Array(write(.unreachable, about: Self.v6)[..<40]))
    }

    @Test(arguments: [547, 548, 549, 1500])
    func `IPv4: of a long packet as much is quoted as fits 576 bytes`(length: Int) {
        let packet = long(Self.v4, length)
        let message = write(.unreachable, about: packet)
        #expect(message.count == min(576, 28 + length) && Array(message[28...]) == Array(packet.prefix(548)))
        #expect(Int(message[2]) << 8 | Int(message[3]) == message.count)
        #expect(sum(message[..<20]) == 0xffff && sum(message[20...]) == 0xffff)
    }

    @Test(arguments: [1231, 1232, 1233, 1500])
    func `IPv6: of a long packet as much is quoted as fits 1280 bytes`(length: Int) {
        let packet = long(Self.v6, length)
        let message = write(.tooBig(mtu: 1300), about: packet)
        #expect(message.count == min(1280, 48 + length) && Array(message[48...]) == Array(packet.prefix(1232)))
        #expect(Int(message[4]) << 8 | Int(message[5]) == message.count - 40 && sum6(message) == 0xffff)
    }

    @Test func `an ordinary packet is answered`() {
        #expect(isAllowed(Self.v4) && isAllowed(Self.v6))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
        "::",
        "::1", "ff02::1", "ff0e::101",
    ])
    func `what comes from or goes to no single host is not`(text: String) throws {
        let address = try #require(IPAddress(text))
        for place in address.isIPv6 ? [8, 24] : [12, 16] {
            var packet = address.isIPv6 ? Self.v6 : Self.v4
            packet.replaceSubrange(place..<place + address.bytes.count, with: address.bytes)
            #expect(!isAllowed(packet))
        }
    }

    @Test(arguments: [
        (UInt16(0x0000), true), (0x4000, true), (0x2000, true), (0x0001, false), (0x2001, false), (0x1fff, false),
    ])
    func `IPv4: of fragments only the first is`(field: UInt16, isAllowed expected: Bool) {
        var packet = Self.v4
        packet[6] = UInt8(field >> 8)
        packet[7] = UInt8(field & 0xff)
        #expect(isAllowed(packet) == expected)
    }

    @Test func `IPv4: an ICMP question is answered, an error never`() {
        let questions: Set<UInt8> = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18, 42, 43]
        for type in UInt8.min...UInt8.max {
            var packet = Self.v4
            packet[9] = 1
            packet[20] = type
            #expect(isAllowed(packet) == questions.contains(type), "type \(type)")
        }
        var short = Array(Self.v4.prefix(20))
        short[3] = 20
        short[9] = 1
        #expect(!isAllowed(short))
    }

    @Test func `IPv4: the type of ICMP is found behind options`() {
        var packet = Self.v4
        packet[0] = 0x46
        packet[9] = 1
        packet[20] = 8  // an option that looks like an echo
        packet[24] = 3
        #expect(!isAllowed(packet))
        packet[20] = 3
        packet[24] = 8
        #expect(isAllowed(packet))
    }

    @Test func `IPv6: an ICMP question is answered, an error or redirect never`() {
        for type in UInt8.min...UInt8.max {
            #expect(isAllowed(v6(58, [type, 0, 0, 0])) == (type >= 128 && type != 137), "type \(type)")
        }
        #expect(!isAllowed(v6(58, [])))
    }

    @Test(arguments: [UInt8(0), 43, 60, 135, 139, 140])
    func `IPv6: an error is found behind extension headers`(kind: UInt8) {
        let long = [58, 1] + [UInt8](repeating: 0, count: 14)
        #expect(!isAllowed(v6(kind, long + [1, 0, 0, 0])))
        #expect(isAllowed(v6(kind, long + [128, 0, 0, 0])))
        let authentication = [58, 4] + [UInt8](repeating: 0, count: 22)
        #expect(!isAllowed(v6(kind, [51, 0, 0, 0, 0, 0, 0, 0] + authentication + [3, 0, 0, 0])))
        #expect(isAllowed(v6(kind, [51, 0, 0, 0, 0, 0, 0, 0] + authentication + [129, 0, 0, 0])))
        // Cut in the middle of the header, or right before the type.
        #expect(!isAllowed(v6(kind, Array(long.prefix(7)))))
        #expect(!isAllowed(v6(kind, long)))
    }

    @Test func `IPv6: of fragments only the first is`() {
        #expect(isAllowed(v6(44, [17, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4])))
        #expect(!isAllowed(v6(44, [17, 0, 0, 8, 0, 0, 0, 9, 1, 2, 3, 4])))
        #expect(!isAllowed(v6(44, [17, 0, 0xff, 0xf8, 0, 0, 0, 9, 1, 2, 3, 4])))
        #expect(!isAllowed(v6(44, [58, 0, 0, 1, 0, 0, 0, 9, 1, 2, 3, 4])))
    }

    @Test func `IPv6: a chain of extension headers without an end is not answered`() {
        let chain = (0..<8).flatMap { _ in [60, 0, 0, 0, 0, 0, 0, 0] as [UInt8] }
        #expect(!isAllowed(v6(60, chain + [17, 0, 0, 0, 0, 0, 0, 0])))
    }

    @Test func `any bytes are judged without harm, and what is answered is sound`() {
        var generator = SeededGenerator(seed: 7)
        var answered = 0
        for round in 0..<20000 {
            var packet = (0..<Int.random(in: 20...200, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            packet[0] = round % 2 == 0 ? 0x40 | UInt8.random(in: 4...8, using: &generator) : 0x60
            packet[round % 2 == 0 ? 2 : 4] = 0
            packet[round % 2 == 0 ? 9 : 6] = [1, 58, 0, 44, 17].randomElement(using: &generator) ?? 0
            guard isAllowed(packet) else { continue }
            answered += 1
            let message = write(.unreachable, about: packet)
            #expect(IPHeader(message)?.totalLength == message.count)
        }
        #expect(answered > 100)
    }

    private func v6(_ next: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0x60, 0, 0, 0, 0, UInt8(content.count), next, 64] + host6(1) + host6(9) + content
    }

    /// The packet with zeroes behind it, and a header that says so.
    private func long(_ packet: [UInt8], _ length: Int) -> [UInt8] {
        var packet = packet + (packet.count..<length).map { UInt8(truncatingIfNeeded: $0) }
        let field = packet[0] >> 4 == 6 ? 4 : 2
        let stated = packet[0] >> 4 == 6 ? length - 40 : length
        packet[field] = UInt8(stated >> 8)
        packet[field + 1] = UInt8(stated & 0xff)
        return packet
    }

    private func isAllowed(_ packet: [UInt8]) -> Bool {
        guard let header = IPHeader(packet) else { return false }
        // Exactly the packet's bytes, so that the address sanitizer sees a reading beyond them.
        return unsafe packet.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe ICMPError.isAllowed(about: base, header)
        }
    }

    private func write(_ error: ICMPError, about packet: [UInt8]) -> [UInt8] {
        var message = [UInt8](repeating: 0xee, count: ICMPError.longestIPv6)
        let length = unsafe packet.withUnsafeBytes { packet in
            unsafe message.withUnsafeMutableBytes { message in
                guard let from = packet.baseAddress, let to = message.baseAddress else { return 0 }
                return unsafe error.write(about: from, length: packet.count, to: to)
            }
        }
        return Array(message.prefix(length))
    }
}

private func host6(_ last: UInt8) -> [UInt8] { [0xfd, 0x20] + [UInt8](repeating: 0, count: 13) + [last] }

/// The sum of 16-bit words (RFC 1071), the slow way; all ones where the checksum among them is right.
private func sum(_ bytes: some Sequence<UInt8>) -> UInt16 {
    var sum: UInt32 = 0
    for (index, byte) in bytes.enumerated() {
        sum += UInt32(byte) << (index % 2 == 0 ? 8 : 0)
        if sum > 0xffff { sum = sum & 0xffff + 1 }
    }
    return UInt16(sum)
}

/// The same with the pseudo-header of an ICMPv6 message.
private func sum6(_ message: [UInt8]) -> UInt16 {
    sum(Array(message[8..<40]) + [0, 0] + Array(message[4..<6]) + [0, 0, 0, 58] + Array(message[40...]))
}

extension IPHeader {
    fileprivate init?(_ bytes: [UInt8]) { unsafe self.init(parsing: bytes.span.bytes) }
}
