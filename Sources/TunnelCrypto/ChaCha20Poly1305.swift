import CCrypto

/// ChaCha20-Poly1305 (RFC 8439) for messages of handshake size: a context per call.
///
/// For packets there is `TransportCipher`.
package enum ChaCha20Poly1305 {
    package static let keySize = 32
    package static let nonceSize = 12
    package static let tagSize = 16

    /// The ciphertext with its tag behind.
    package static func seal(_ plaintext: RawSpan, key: RawSpan, nonce: RawSpan, additional: RawSpan) -> [UInt8] {
        let context = unsafe makeContext(key: key, nonce: nonce, sealing: true)
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let length = plaintext.byteCount
        return unsafe [UInt8](unsafeUninitializedCapacity: length + tagSize) { output, count in
            guard let base = output.baseAddress else { preconditionFailure("out of memory") }
            let done = unsafe feed(context, additional: additional, text: plaintext, into: base)
            precondition(done, "libcrypto refused ChaCha20-Poly1305")
            let tagged = unsafe EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_GET_TAG,
                Int32(tagSize),
                base + length
            )
            precondition(tagged == 1, "libcrypto gave no tag")
            count = length + tagSize
        }
    }

    /// Writes the plaintext of a ciphertext with its tag behind into `output`, which must be 16 bytes shorter.
    ///
    /// - Returns: false where it isn't authentic, or a length doesn't fit; `output` is then wiped.
    package static func open(
        _ sealed: RawSpan,
        key: RawSpan,
        nonce: RawSpan,
        additional: RawSpan,
        into output: inout MutableRawSpan
    ) -> Bool {
        let length = sealed.byteCount - tagSize
        guard length >= 0, output.byteCount == length else { return false }
        let context = unsafe makeContext(key: key, nonce: nonce, sealing: false)
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        var tag = [UInt8](repeating: 0, count: tagSize)
        for index in 0..<tagSize { tag[index] = sealed[byteAt: length + index] }
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), &tag) == 1 else {
            return false
        }
        // libcrypto wants somewhere to write also where there is nothing to write.
        var nowhere: UInt8 = 0
        let done = unsafe output.withUnsafeMutableBytes { bytes in
            unsafe withUnsafeMutablePointer(to: &nowhere) { nowhere in
                unsafe feed(
                    context,
                    additional: additional,
                    text: sealed.extracting(first: length),
                    into: bytes.base ?? nowhere
                )
            }
        }
        if !done { unsafe output.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) } }
        return done
    }

    private static func makeContext(key: RawSpan, nonce: RawSpan, sealing: Bool) -> OpaquePointer {
        precondition(key.byteCount == keySize && nonce.byteCount == nonceSize, "a key has 32 bytes, a nonce 12")
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto: out of memory") }
        let done = unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe EVP_CipherInit_ex2(context, CryptoLibraries.cipher, key.base, nonce.base, sealing ? 1 : 0, nil)
            }
        }
        precondition(done == 1, "libcrypto refused ChaCha20-Poly1305")
        return unsafe context
    }

    private static func feed(
        _ context: OpaquePointer,
        additional: RawSpan,
        text: RawSpan,
        into output: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        var written: Int32 = 0
        let fed = unsafe additional.withUnsafeBytes { additional in
            unsafe text.withUnsafeBytes { text in
                unsafe (additional.count == 0
                    || EVP_CipherUpdate(context, nil, &written, additional.base, Int32(additional.count)) == 1)
                    && (text.count == 0
                        || EVP_CipherUpdate(context, output, &written, text.base, Int32(text.count)) == 1)
            }
        }
        guard fed else { return false }
        return unsafe EVP_CipherFinal_ex(context, output, &written) == 1
    }
}

extension RawSpan {
    subscript(byteAt offset: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    @_lifetime(copy self)
    func extracting(first count: Int) -> RawSpan { extracting(0..<count) }
}
