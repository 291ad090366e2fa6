/// The cryptographic functions that the protocol is built from; `TunnelCrypto` has them.
///
/// Lengths are the protocol's: keys, hashes and shared secrets have 32 bytes, MACs and tags 16. A wrong length is our own
/// mistake and may end the process; contents from the network never may.
package protocol Cryptography: Sendable {
    /// The X25519 public key of a private one.
    static func publicKey(of privateKey: RawSpan) -> [UInt8]
    /// Writes the X25519 shared secret; false where it would be all zero.
    static func sharedSecret(privateKey: RawSpan, publicKey: RawSpan, into output: inout MutableRawSpan) -> Bool
    /// BLAKE2s of two pieces, one behind the other.
    static func hash(_ first: RawSpan, _ second: RawSpan) -> [UInt8]
    /// Keyed BLAKE2s of 16 bytes.
    static func mac(_ message: RawSpan, key: RawSpan) -> [UInt8]
    /// HMAC over BLAKE2s.
    static func hmac(_ message: RawSpan, key: RawSpan, into output: inout MutableRawSpan)
    /// ChaCha20-Poly1305 with a nonce of 12 bytes; the tag stands behind.
    static func seal(_ plaintext: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8]
    /// The reverse; false where it isn't authentic.
    static func open(
        _ sealed: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan,
        into output: inout MutableRawSpan
    ) -> Bool
    /// XChaCha20-Poly1305 with a nonce of 24 bytes, for cookies.
    static func sealCookie(_ plaintext: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8]
    /// The reverse; nil where it isn't authentic.
    static func openCookie(_ sealed: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8]?
}
