import CSodium

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): the cipher of WireGuard's cookies.
package enum XChaCha20Poly1305 {
    package static let keySize = 32
    package static let nonceSize = 24
    package static let tagSize = 16

    /// The ciphertext with its tag behind.
    package static func seal(_ plaintext: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: plaintext.byteCount + tagSize)
        let sealed = unsafe withBytes(key, nonce, plaintext, additional) { key, nonce, text, additional in
            unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
                &output,
                nil,
                text.base,
                UInt64(text.count),
                additional.base,
                UInt64(additional.count),
                nil,
                nonce,
                key
            )
        }
        precondition(sealed == 0, "a key has 32 bytes, a nonce 24")
        return output
    }

    /// The plaintext of a ciphertext with its tag behind.
    ///
    /// - Returns: nil where it isn't authentic, or a length doesn't fit.
    package static func open(_ sealed: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8]? {
        guard sealed.byteCount >= tagSize else { return nil }
        // One byte to spare: the library must always have somewhere to write.
        var output = [UInt8](repeating: 0, count: sealed.byteCount - tagSize + 1)
        let opened = unsafe withBytes(key, nonce, sealed, additional) { key, nonce, text, additional in
            guard let text = unsafe text.base else { return -1 }
            return unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
                &output,
                nil,
                nil,
                text,
                UInt64(sealed.byteCount),
                additional.base,
                UInt64(additional.count),
                nonce,
                key
            )
        }
        guard opened == 0 else { return nil }
        output.removeLast()
        return output
    }

    /// Lends all four as pointers; -1 where key or nonce has the wrong length.
    private static func withBytes(
        _ key: RawSpan,
        _ nonce: RawSpan,
        _ text: RawSpan,
        _ additional: RawSpan,
        _ body: (UnsafePointer<UInt8>, UnsafePointer<UInt8>, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Int32
    ) -> Int32 {
        unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                guard key.count == keySize, nonce.count == nonceSize, let key = unsafe key.base,
                    let nonce = unsafe nonce.base
                else { return -1 }
                return unsafe text.withUnsafeBytes { text in
                    unsafe additional.withUnsafeBytes { unsafe body(key, nonce, text, $0) }
                }
            }
        }
    }
}
