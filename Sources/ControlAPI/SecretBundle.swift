/// Secrets with their labels as they travel through a memfd, never in JSON (design, section 5).
///
/// Layout, all numbers little endian: "TNLS", then for each secret a 16-bit length and the label in UTF-8, a 32-bit
/// length and the secret's bytes. The reader takes what stands in a buffer that its owner wipes.
package enum SecretBundle {
    /// More than any configuration needs; a bundle beyond it is refused.
    package static let maximumBytes = 1 << 20

    /// The size of a bundle of these secrets.
    package static func byteCount(_ entries: some Sequence<(label: String, count: Int)>) -> Int {
        entries.reduce(magic.count) { $0 + 6 + $1.label.utf8.count + $1.count }
    }

    private static let magic: [UInt8] = Array("TNLS".utf8)

    /// Writes a bundle to `output` byte by byte, so that no copy of a secret is left in an intermediate array.
    @safe package struct Writer: ~Copyable {
        private let buffer: UnsafeMutableRawBufferPointer
        private var used = 0

        /// - Parameter buffer: at least `byteCount` bytes; owned, and wiped, by the caller.
        package init(into buffer: UnsafeMutableRawBufferPointer) {
            unsafe self.buffer = unsafe buffer
            put(magic)
        }

        /// Appends one secret; false, with nothing written, where the buffer is too small or the label too long.
        package mutating func append(label: String, secret: UnsafeRawBufferPointer) -> Bool {
            let name = Array(label.utf8)
            guard name.count <= Int(UInt16.max), secret.count <= SecretBundle.maximumBytes,
                unsafe used + 6 + name.count + secret.count <= buffer.count
            else { return false }
            put([UInt8(truncatingIfNeeded: name.count), UInt8(truncatingIfNeeded: name.count >> 8)])
            put(name)
            let count = secret.count
            put((0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) })
            for index in 0..<count {
                unsafe buffer[used] = secret[index]
                used += 1
            }
            return true
        }

        private mutating func put(_ bytes: [UInt8]) {
            for byte in bytes where unsafe used < buffer.count {
                unsafe buffer[used] = byte
                used += 1
            }
        }
    }

    /// Calls `body` with each label and secret in turn.
    ///
    /// - Returns: false where the bytes are no whole bundle; what came before was delivered.
    package static func read(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (_ label: String, _ secret: UnsafeRawBufferPointer) throws -> Void
    ) rethrows -> Bool {
        guard bytes.count >= magic.count, unsafe bytes.prefix(magic.count).elementsEqual(magic) else {
            return false
        }
        var index = magic.count
        func number(_ count: Int) -> Int? {
            guard bytes.count - index >= count else { return nil }
            var value = 0
            for offset in 0..<count { value |= unsafe Int(bytes[index + offset]) << (offset * 8) }
            index += count
            return value
        }
        while index < bytes.count {
            guard let nameCount = number(2), bytes.count - index >= nameCount else { return false }
            let label = unsafe String(decoding: bytes[index..<index + nameCount], as: UTF8.self)
            index += nameCount
            guard let count = number(4), bytes.count - index >= count else { return false }
            try unsafe body(label, UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
            index += count
        }
        return true
    }
}
