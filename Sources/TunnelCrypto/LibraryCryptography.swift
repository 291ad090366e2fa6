/// The primitives as static functions of one type, in the shape that a protocol core can be generic over.
///
/// A core states what it needs as a protocol of its own and knows no library; whoever drives the core makes this type
/// conform, which takes one line.
package enum LibraryCryptography {
    package static func publicKey(of privateKey: RawSpan) -> [UInt8] { X25519.publicKey(of: privateKey) }

    package static func sharedSecret(
        privateKey: RawSpan,
        publicKey: RawSpan,
        into output: inout MutableRawSpan
    ) -> Bool {
        X25519.sharedSecret(privateKey: privateKey, publicKey: publicKey, into: &output)
    }

    package static func hash(_ first: RawSpan, _ second: RawSpan) -> [UInt8] { Blake2s.hash(first, second) }

    package static func mac(_ message: RawSpan, key: RawSpan) -> [UInt8] { Blake2s.mac(message, key: key) }

    package static func hmac(_ message: RawSpan, key: RawSpan, into output: inout MutableRawSpan) {
        Blake2s.hmac(message, key: key, into: &output)
    }

    package static func seal(
        _ plaintext: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan
    ) -> [UInt8] {
        ChaCha20Poly1305.seal(plaintext, key: key, nonce: nonce, additional: additional)
    }

    package static func open(
        _ sealed: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan,
        into output: inout MutableRawSpan
    ) -> Bool {
        ChaCha20Poly1305.open(sealed, key: key, nonce: nonce, additional: additional, into: &output)
    }

    package static func sealCookie(
        _ plaintext: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan
    ) -> [UInt8] {
        XChaCha20Poly1305.seal(plaintext, key: key, nonce: nonce, additional: additional)
    }

    package static func openCookie(
        _ sealed: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan
    ) -> [UInt8]? {
        XChaCha20Poly1305.open(sealed, key: key, nonce: nonce, additional: additional)
    }
}
