import TunnelCrypto

/// The secret of an item of kind `identity`: PKCS#12 data and their password as one.
///
/// Layout: the password's length (2 bytes, little endian), the password in UTF-8, the data.
enum IdentitySecret {
    private static let headBytes = 2
    private static let passwordLimit = Int(UInt16.max)

    /// Both as one; nil where the password is too long.
    static func join(_ data: borrowing SecretBytes, password: borrowing SecretBytes) -> SecretBytes? {
        guard password.count <= passwordLimit else { return nil }
        var joined = SecretBytes(zeroCount: headBytes + password.count + data.count)
        let count = password.count
        unsafe password.bytes.withUnsafeBytes { password in
            unsafe data.bytes.withUnsafeBytes { data in
                joined.withMutableBytes { bytes in
                    unsafe bytes.withUnsafeMutableBytes { buffer in
                        unsafe buffer[0] = UInt8(truncatingIfNeeded: count)
                        unsafe buffer[1] = UInt8(truncatingIfNeeded: count >> 8)
                        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[headBytes...]).copyMemory(from: password)
                        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(headBytes + count)...])
                            .copyMemory(from: data)
                    }
                }
            }
        }
        return joined
    }

    /// Where the two stand; nil where the lengths don't fit.
    static func parts(of joined: RawSpan) -> (password: Range<Int>, data: Range<Int>)? {
        guard joined.byteCount > headBytes else { return nil }
        let start = headBytes + Int(joined[0]) + Int(joined[1]) << 8
        guard start < joined.byteCount else { return nil }
        return (headBytes..<start, start..<joined.byteCount)
    }
}
