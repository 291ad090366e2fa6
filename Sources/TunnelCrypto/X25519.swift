import CCrypto

/// Key agreement on Curve25519 (RFC 7748); every key and result has 32 bytes.
package enum X25519 {
    package static let keySize = 32

    static var isOffered: Bool {
        guard let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, nil) else { return false }
        unsafe EVP_PKEY_CTX_free(context)
        return true
    }

    /// A new private key with its bits fixed as `wg genkey` does (RFC 7748, section 5), so that it reads the same everywhere.
    package static func generatePrivateKey() -> SecretBytes {
        var key = SecretBytes(randomCount: keySize)
        key.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe bytes[0] &= 248
                unsafe bytes[31] = (bytes[31] & 127) | 64
            }
        }
        return key
    }

    /// The public key that belongs to a private one.
    package static func publicKey(of privateKey: RawSpan) -> [UInt8] {
        guard let key = unsafe privatePKey(privateKey) else { preconditionFailure("a private key has 32 bytes") }
        defer { unsafe EVP_PKEY_free(key) }
        return unsafe [UInt8](unsafeUninitializedCapacity: keySize) { output, count in
            var size = keySize
            let done = unsafe EVP_PKEY_get_raw_public_key(key, output.baseAddress, &size)
            precondition(done == 1 && size == keySize, "libcrypto refused a public key")
            count = keySize
        }
    }

    /// Writes the secret that both ends of a key agreement get into `output`, which has 32 bytes.
    ///
    /// - Returns: false where the result would be all zero (the public key is one of small order), or a key doesn't have 32
    ///   bytes; `output` is then of no use.
    package static func sharedSecret(privateKey: RawSpan, publicKey: RawSpan, into output: inout MutableRawSpan) -> Bool
    {
        guard output.byteCount == keySize, publicKey.byteCount == keySize, let own = unsafe privatePKey(privateKey)
        else { return false }
        defer { unsafe EVP_PKEY_free(own) }
        let peer = unsafe publicKey.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, bytes.base, bytes.count)
        }
        guard let peer = unsafe peer else { return false }
        defer { unsafe EVP_PKEY_free(peer) }
        guard let context = unsafe EVP_PKEY_CTX_new(own, nil) else { return false }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var size = keySize
        let done = unsafe output.withUnsafeMutableBytes { output in
            unsafe EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1
                && EVP_PKEY_derive(context, output.base, &size) == 1
        }
        if !done { ERR_clear_error() }
        return done && size == keySize
    }

    private static func privatePKey(_ key: RawSpan) -> OpaquePointer? {
        guard key.byteCount == keySize else { return nil }
        return unsafe key.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, bytes.base, bytes.count)
        }
    }
}
