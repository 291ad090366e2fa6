import CCrypto

/// BLAKE2s (RFC 7693): the hash of 32 bytes, and keyed, the MAC of 16 bytes.
package enum Blake2s {
    /// The bytes of a hash.
    package static let hashSize = 32
    /// The bytes of a keyed hash, as WireGuard uses it for mac1, mac2 and cookies.
    package static let macSize = 16

    /// The hash of two pieces, one behind the other; the second may be empty.
    package static func hash(_ first: RawSpan, _ second: RawSpan) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("libcrypto: out of memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        return unsafe [UInt8](unsafeUninitializedCapacity: hashSize) { output, count in
            let done = unsafe first.withUnsafeBytes { first in
                unsafe second.withUnsafeBytes { second in
                    unsafe EVP_DigestInit_ex(context, CryptoLibraries.digest, nil) == 1
                        && EVP_DigestUpdate(context, first.baseAddress, first.count) == 1
                        && EVP_DigestUpdate(context, second.baseAddress, second.count) == 1
                        && EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1
                }
            }
            precondition(done, "libcrypto refused BLAKE2s")
            count = hashSize
        }
    }

    /// The keyed hash of 16 bytes; the key has 1 to 32 bytes.
    package static func mac(_ message: RawSpan, key: RawSpan) -> [UInt8] {
        guard let algorithm = CryptoLibraries.keyedHash else { preconditionFailure("libcrypto lacks BLAKE2SMAC") }
        var output = [UInt8](repeating: 0, count: macSize)
        var span = output.mutableSpan
        var bytes = unsafe span.mutableBytes
        algorithm.authenticate(message, key: key, into: &bytes)
        return output
    }

    /// HMAC (RFC 2104) over the hash of 32 bytes; `output` has 32 bytes.
    package static func hmac(_ message: RawSpan, key: RawSpan, into output: inout MutableRawSpan) {
        guard let algorithm = CryptoLibraries.hmac else { preconditionFailure("libcrypto lacks HMAC") }
        algorithm.authenticate(message, key: key, into: &output)
    }
}
