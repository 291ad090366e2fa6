import NetworkTypes

/// The public key that a peer is known by: 32 bytes, and base64 as text.
package struct PublicKey: Hashable, Sendable {
    /// The bytes by eights, in the machine's order; only ever compared and taken apart again.
    private let words: InlineWords

    package static let byteCount = 32

    /// Takes 32 bytes; nil for any other count.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in bytes.enumerated() { words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8) }
        self.words = InlineWords(a: words[0], b: words[1], c: words[2], d: words[3])
    }

    package var bytes: [UInt8] {
        [words.a, words.b, words.c, words.d].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) }
        }
    }

    private struct InlineWords: Hashable, Sendable {
        let a, b, c, d: UInt64
    }
}

extension PublicKey: LosslessStringConvertible {
    package var description: String { KeyText.encode(bytes) }

    /// Reads the 44 characters that `wg` shows.
    package init?(_ text: String) {
        guard let bytes = KeyText.decode(text) else { return nil }
        self.init(bytes)
    }
}
