import WireGuardCore

/// The "key=value" lines of an operation; values are read where they stand, since some are keys.
struct DeviceLines: ~Escapable {
    struct Line {
        let key: String
        /// Where the value stands in the operation.
        let value: Range<Int>
    }

    /// The longest line that means something has 15 bytes of key and 128 of value.
    private static let longestLine = 256

    private let bytes: RawSpan
    private var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) { self.bytes = bytes }

    /// The next line; nil at the end.
    ///
    /// - Throws: `malformed` for a line without "=", or longer than any that means something.
    mutating func next() throws(OperationError) -> Line? {
        guard position < bytes.byteCount else { return nil }
        let start = position
        var end = start
        var equals: Int?
        while end < bytes.byteCount, byte(end) != UInt8(ascii: "\n") {
            if equals == nil, byte(end) == UInt8(ascii: "=") { equals = end }
            end += 1
        }
        position = end + 1
        guard let equals, end - start <= Self.longestLine else { throw .malformed }
        return Line(key: text(start..<equals), value: equals + 1..<end)
    }

    func text(_ range: Range<Int>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        for index in range { text.append(byte(index)) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The 32 bytes that 64 hexadecimal digits stand for; nil for anything else.
    func key(_ range: Range<Int>) -> SecretKey? {
        let start = range.lowerBound
        guard isKey(range) else { return nil }
        let bytes = bytes
        return SecretKey { output in
            for index in 0..<SecretKey.byteCount {
                let byte =
                    Self.hexadecimal(bytes, start + 2 * index) << 4 | Self.hexadecimal(bytes, start + 2 * index + 1)
                output.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
        }
    }

    /// A key that is no secret.
    func publicKey(_ range: Range<Int>) -> PublicKey? {
        guard isKey(range) else { return nil }
        var key: [UInt8] = []
        for index in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            key.append(Self.hexadecimal(bytes, index) << 4 | Self.hexadecimal(bytes, index + 1))
        }
        return PublicKey(key)
    }

    private func isKey(_ range: Range<Int>) -> Bool {
        guard range.count == 64 else { return false }
        for index in range where !Self.isHexadecimal(byte(index)) { return false }
        return true
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }

    /// The value of a digit that `isHexadecimal` has seen.
    private static func hexadecimal(_ bytes: RawSpan, _ index: Int) -> UInt8 {
        let byte = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        return byte <= UInt8(ascii: "9") ? byte & 15 : (byte & 15) + 9
    }

    private func byte(_ index: Int) -> UInt8 { unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) }
}
