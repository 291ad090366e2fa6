import CSodium

extension SecretBytes {
    /// The bytes that a text in base64 (RFC 4648, section 4) stands for; blanks and ends of lines count for nothing.
    ///
    /// - Returns: nil for what isn't base64.
    package init?(base64 text: RawSpan) {
        var output = SecretBytes(zeroCount: text.byteCount / 4 * 3 + 3)
        let capacity = output.count
        var count = 0
        let isWhole = unsafe text.withUnsafeBytes { text in
            output.withMutableBytes { output in
                unsafe output.withUnsafeMutableBytes { output in
                    guard let source = unsafe text.base, let target = unsafe output.base else { return false }
                    return unsafe sodium_base642bin(
                        target,
                        capacity,
                        UnsafeRawPointer(source).assumingMemoryBound(to: CChar.self),
                        text.count,
                        " \t\r\n",
                        &count,
                        nil,
                        sodium_base64_VARIANT_ORIGINAL
                    ) == 0
                }
            }
        }
        guard isWhole else { return nil }
        self.init(copying: output.bytes.extracting(first: count))
    }
}
