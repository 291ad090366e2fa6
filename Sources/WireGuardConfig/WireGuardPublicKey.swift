import NetworkTypes

/// A peer's public key: 32 bytes, and 44 characters of base64 as text.
package struct WireGuardPublicKey: Hashable, Sendable {
    /// Always 32, not all zero.
    package let bytes: [UInt8]

    /// - Returns: nil unless there are 32 bytes and one of them isn't zero.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == KeyText.byteCount, bytes.contains(where: { $0 != 0 }) else { return nil }
        self.bytes = Array(bytes)
    }

    init(text: ArraySlice<UInt8>) throws(ValueProblem) {
        var bytes = [UInt8](repeating: 0, count: KeyText.byteCount)
        var span = bytes.mutableSpan
        var output = unsafe span.mutableBytes
        try KeyText.read(text, into: &output)
        guard let key = WireGuardPublicKey(bytes: bytes) else {
            throw ValueProblem("is all zeros", hint: "That is a placeholder: write the peer's real key.")
        }
        self = key
    }
}

extension WireGuardPublicKey: LosslessStringConvertible {
    package var description: String {
        var text: [UInt8] = []
        KeyText.encode(unsafe bytes.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package init?(_ description: String) {
        guard let key = try? WireGuardPublicKey(text: ArraySlice(description.utf8)) else { return nil }
        self = key
    }
}
