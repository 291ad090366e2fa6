import CSodium

/// Secrets sealed for the disk: XChaCha20-Poly1305 of libsodium under a key of 32 bytes.
///
/// A sealed secret is a random nonce of 24 bytes, the ciphertext, and a tag of 16.
package enum SecretSeal {
    package static let keySize = 32
    package static let fingerprintSize = 8
    /// Bytes that sealing adds.
    package static let overhead = XChaCha20Poly1305.nonceSize + XChaCha20Poly1305.tagSize

    /// - Parameters:
    ///   - key: `keySize` bytes.
    ///   - additional: what must be the same at opening.
    package static func seal(
        _ secret: RawSpan,
        key: borrowing SecretBytes,
        additional: RawSpan
    ) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: XChaCha20Poly1305.nonceSize)
        unsafe randombytes_buf(&nonce, nonce.count)
        return nonce
            + XChaCha20Poly1305.seal(
                secret,
                key: key.bytes,
                nonce: unsafe nonce.span.bytes,
                additional: additional
            )
    }

    /// The secret, straight into guarded memory; nil where the key, the bytes or `additional` are others.
    package static func open(
        _ sealed: RawSpan,
        key: borrowing SecretBytes,
        additional: RawSpan
    ) -> SecretBytes? {
        guard sealed.byteCount >= overhead else { return nil }
        var secret = SecretBytes(zeroCount: sealed.byteCount - overhead)
        let isOpened = secret.withMutableBytes { output in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe open(sealed, key: key, additional: additional, into: output)
            }
        }
        guard isOpened else { return nil }
        return secret
    }

    /// Opens what was sealed into memory of `sealed.byteCount - overhead` bytes.
    ///
    /// - Returns: false where the key, the bytes, `additional` or the room are others; the room is left without the secret.
    package static func open(
        _ sealed: RawSpan,
        key: borrowing SecretBytes,
        additional: RawSpan,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard sealed.byteCount == output.count + overhead, key.count == keySize else { return false }
        let nonce = sealed.extracting(first: XChaCha20Poly1305.nonceSize)
        let text = sealed.extracting(droppingFirst: XChaCha20Poly1305.nonceSize)
        return unsafe key.bytes.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe text.withUnsafeBytes { text in
                    unsafe additional.withUnsafeBytes { unsafe open(text, key, nonce, $0, into: output) }
                }
            }
        }
    }

    private static func open(
        _ text: UnsafeRawBufferPointer,
        _ key: UnsafeRawBufferPointer,
        _ nonce: UnsafeRawBufferPointer,
        _ additional: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard let text = unsafe text.base, let key = unsafe key.base, let nonce = unsafe nonce.base else {
            return false
        }
        return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
            output.base,
            nil,
            nil,
            text,
            UInt64(output.count + XChaCha20Poly1305.tagSize),
            additional.base,
            UInt64(additional.count),
            nonce,
            key
        ) == 0
    }

    /// Eight bytes that tell keys apart and say nothing about them: a keyed BLAKE2b hash of a constant.
    package static func fingerprint(of key: borrowing SecretBytes) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 16)
        let context = Array("tunneld host key".utf8)
        let done = unsafe key.bytes.withUnsafeBytes { key in
            unsafe crypto_generichash(&hash, hash.count, context, UInt64(context.count), key.base, key.count)
        }
        precondition(done == 0, "a key has 32 bytes")
        return Array(hash.prefix(fingerprintSize))
    }
}
