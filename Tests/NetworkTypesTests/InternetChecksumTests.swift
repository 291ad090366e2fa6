import NetworkTypes
import Testing

@Suite struct InternetChecksumTests {
    /// RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum up to ddf2.
    @Test func `the example of RFC 1071 gives its sum`() {
        let bytes: [UInt8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]
        let sum = unsafe InternetChecksum.sum(bytes.span.bytes)
        #expect(UInt16(bigEndian: InternetChecksum.fold(sum)) == 0xddf2)
        #expect(UInt16(bigEndian: InternetChecksum.finish(sum)) == ~0xddf2)
    }

    @Test func `every length and content sums up as word by word, also while copying`() {
        var generator = SystemRandomNumberGenerator()
        for count in 0...200 {
            let bytes = (0..<count).map { _ in
                count % 3 == 0 ? UInt8.max : UInt8.random(in: 0...255, using: &generator)
            }
            let start = UInt64(count * 77)
            let expected = reference(bytes, start)
            let plain = unsafe InternetChecksum.sum(bytes.span.bytes, adding: start)
            #expect(InternetChecksum.fold(plain) == expected)
            var copy = [UInt8](repeating: 0, count: count + 1)
            let copied = unsafe bytes.withUnsafeBytes { from in
                unsafe copy.withUnsafeMutableBytes { to in
                    guard let source = from.baseAddress, let target = to.baseAddress else { return start }
                    return unsafe InternetChecksum.copy(source, count: count, to: target, adding: start)
                }
            }
            #expect(InternetChecksum.fold(copied) == expected)
            #expect(copy == bytes + [0])
        }
    }

    @Test func `a UDP checksum of zero is stored as all ones`() {
        #expect(InternetChecksum.finish(0xffff) == 0)
        #expect(InternetChecksum.finishUDP(0xffff) == 0xffff)
        #expect(InternetChecksum.finishUDP(0x1234) == ~0x1234)
    }

    @Test func `a sum of any size is folded with all its carries`() {
        #expect(InternetChecksum.fold(.max) == 0xffff)
        #expect(InternetChecksum.fold(0xffff_0000_0000_0001) == 1)
        #expect(InternetChecksum.fold(0x0001_ffff) == 1)
    }
}

private func reference(_ bytes: [UInt8], _ start: UInt64) -> UInt16 {
    var sum = start
    for index in stride(from: 0, to: bytes.count, by: 2) {
        let second = index + 1 < bytes.count ? bytes[index + 1] : 0
        sum += UInt64(UInt16(bytes[index]) | UInt16(second) << 8)
    }
    while sum > 0xffff { sum = (sum & 0xffff) + (sum >> 16) }
    return UInt16(sum)
}
