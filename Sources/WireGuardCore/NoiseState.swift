/// The running state of a handshake that both ends bring forward in step: a secret chain and a hash of all that was said.
///
/// A value: an attempt on a forged message works on a copy and leaves the original as it was.
/// Source: WireGuard whitepaper, section 5.4, Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s.
struct NoiseState<C: Cryptography> {
    private(set) var chainingKey: SecretKey
    private(set) var hash: [UInt8]

    /// The state before the first message to an end with this public key.
    init?(responder: PublicKey) {
        let construction = C.hash(
            Array("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s".utf8).raw,
            [UInt8]().raw
        )
        guard let start = SecretKey(copying: construction.raw) else { return nil }
        chainingKey = start
        hash = C.hash(construction.raw, Array("WireGuard v1 zx2c4 Jason@zx2c4.com".utf8).raw)
        mix(responder.bytes)
    }

    /// Takes what both ends have seen into the hash.
    mutating func mix(_ bytes: [UInt8]) { hash = C.hash(hash.raw, bytes.raw) }

    /// Takes a public key into the hash and the chain.
    mutating func mixEphemeral(_ publicKey: [UInt8]) {
        mix(publicKey)
        chainingKey = KeyDerivation<C>.one(publicKey.raw, key: chainingKey)
    }

    /// Takes a shared secret into the chain.
    mutating func mixSecret(_ secret: SecretKey) {
        chainingKey = KeyDerivation<C>.one(secret.bytes, key: chainingKey)
    }

    /// Takes a shared secret into the chain and gives a key for one message part.
    mutating func mixSecretForKey(_ secret: SecretKey) -> SecretKey {
        let (chain, key) = KeyDerivation<C>.two(secret.bytes, key: chainingKey)
        chainingKey = chain
        return key
    }

    /// Takes the pre-shared key into chain and hash and gives the key for the last message part.
    mutating func mixPresharedKey(_ presharedKey: SecretKey) -> SecretKey {
        let (chain, mixed, key) = KeyDerivation<C>.three(presharedKey.bytes, key: chainingKey)
        chainingKey = chain
        hash = C.hash(hash.raw, mixed.bytes)
        return key
    }

    /// Encrypts a message part under the hash so far, and takes the result into it.
    mutating func seal(_ plaintext: [UInt8], key: SecretKey) -> [UInt8] {
        let sealed = C.seal(plaintext.raw, key: key.bytes, nonce: Self.nonce.raw, additional: hash.raw)
        mix(sealed)
        return sealed
    }

    /// Decrypts a message part under the hash so far, and takes it into the hash.
    ///
    /// - Returns: nil where it isn't authentic.
    mutating func open(_ sealed: [UInt8], key: SecretKey) -> [UInt8]? {
        guard sealed.count >= TransportHeader.tagSize else { return nil }
        var plaintext = [UInt8](repeating: 0, count: sealed.count - TransportHeader.tagSize)
        var span = plaintext.mutableSpan
        var output = unsafe span.mutableBytes
        guard
            C.open(
                sealed.raw,
                key: key.bytes,
                nonce: Self.nonce.raw,
                additional: hash.raw,
                into: &output
            )
        else { return nil }
        mix(sealed)
        return plaintext
    }

    /// The two keys of the session: the first for what the initiator sends.
    func split() -> (SecretKey, SecretKey) { KeyDerivation<C>.two([UInt8]().raw, key: chainingKey) }

    /// Each handshake key seals one part, so the counter in the nonce is always 0.
    private static var nonce: [UInt8] { [UInt8](repeating: 0, count: 12) }
}

extension Cryptography {
    /// The X25519 shared secret; nil where it would be all zero.
    static func sharedSecret(_ privateKey: SecretKey, _ publicKey: [UInt8]) -> SecretKey? {
        var isGood = false
        let secret = SecretKey {
            isGood = sharedSecret(privateKey: privateKey.bytes, publicKey: publicKey.raw, into: &$0)
        }
        return isGood ? secret : nil
    }
}
