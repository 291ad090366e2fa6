import CCrypto

/// One configured MAC algorithm of libcrypto, without a key.
///
/// The context made here is only ever copied: its parameters (and for HMAC the digest) are looked up once, and each
/// calculation works on a copy of its own.
@safe final class MessageAuthenticator: @unchecked Sendable {
    // @unchecked: the pointer is never changed after init, and libcrypto only reads the context that it copies.
    private let template: OpaquePointer

    /// - Returns: nil where libcrypto lacks the algorithm, or doesn't take the parameters.
    init?(algorithm: String, size: Int?, digest: String?) {
        guard let mac = unsafe EVP_MAC_fetch(nil, algorithm, nil) else { return nil }
        defer { unsafe EVP_MAC_free(mac) }
        guard let context = unsafe EVP_MAC_CTX_new(mac) else { return nil }
        guard unsafe Self.configure(context, size: size, digest: digest) else {
            unsafe EVP_MAC_CTX_free(context)
            return nil
        }
        unsafe template = context
    }

    deinit { unsafe EVP_MAC_CTX_free(template) }

    /// Sets the parameters given; all pointers are good for the length of the call, and libcrypto keeps none.
    private static func configure(_ context: OpaquePointer, size: Int?, digest: String?) -> Bool {
        if var size {
            let isSet = unsafe OSSL_MAC_PARAM_SIZE.withCString { name in
                unsafe withUnsafeMutablePointer(to: &size) { size in
                    let list = unsafe [OSSL_PARAM_construct_size_t(name, size), OSSL_PARAM_construct_end()]
                    return unsafe EVP_MAC_CTX_set_params(context, list) == 1
                }
            }
            guard isSet else { return false }
        }
        guard let digest else { return true }
        var value = Array(digest.utf8CString)
        return unsafe OSSL_MAC_PARAM_DIGEST.withCString { name in
            unsafe value.withUnsafeMutableBufferPointer { value in
                let list = unsafe [
                    OSSL_PARAM_construct_utf8_string(name, value.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                return unsafe EVP_MAC_CTX_set_params(context, list) == 1
            }
        }
    }

    /// Writes the MAC of a message into `output`, which must be as long as the MAC.
    func authenticate(_ message: RawSpan, key: RawSpan, into output: inout MutableRawSpan) {
        guard let context = unsafe EVP_MAC_CTX_dup(template) else { preconditionFailure("libcrypto: out of memory") }
        defer { unsafe EVP_MAC_CTX_free(context) }
        let size = output.byteCount
        var written = 0
        let done = unsafe key.withUnsafeBytes { key in
            unsafe message.withUnsafeBytes { message in
                unsafe output.withUnsafeMutableBytes { output in
                    unsafe EVP_MAC_init(context, key.base, key.count, nil) == 1
                        && EVP_MAC_update(context, message.base, message.count) == 1
                        && EVP_MAC_final(context, output.base, &written, size) == 1
                }
            }
        }
        precondition(done && written == size, "libcrypto refused a MAC")
    }
}

extension UnsafeRawBufferPointer {
    /// The address as C functions on bytes want it.
    var base: UnsafePointer<UInt8>? { unsafe baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    var base: UnsafeMutablePointer<UInt8>? { unsafe baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
