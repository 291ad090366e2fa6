/// A new X25519 key pair, as `wg genkey` and `wg pubkey` make one.
package struct KeyPair: ~Copyable {
    package let privateKey: SecretBytes
    /// 32 bytes.
    package let publicKey: [UInt8]

    /// Draws a new pair.
    package init() {
        let key = X25519.generatePrivateKey()
        publicKey = key.publicKey()
        privateKey = key
    }
}

extension SecretBytes {
    /// The public key that belongs to these 32 bytes as a private one.
    package borrowing func publicKey() -> [UInt8] { X25519.publicKey(of: bytes) }
}
