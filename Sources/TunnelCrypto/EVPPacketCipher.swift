import CCrypto
import Glibc

/// ChaCha20-Poly1305 for packets by libcrypto's EVP, with one context for all packets of a key.
///
/// Of EVP's ways to do it this has the fewest calls: the cipher itself, and the tag by an argument list made once.
@safe final class EVPPacketCipher {
    private let context: OpaquePointer
    /// The argument list that tells libcrypto where the tag of this packet stands.
    private let tag: UnsafeMutablePointer<OSSL_PARAM>

    /// The name of the argument, for as long as the process lives: libcrypto reads it with every packet.
    nonisolated(unsafe) private static let tagName = unsafe strdup(OSSL_CIPHER_PARAM_AEAD_TAG)

    init(key: RawSpan, direction: TransportCipher.Direction) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto: out of memory") }
        let done = unsafe key.withUnsafeBytes { key in
            let sealing: Int32 = direction == .seal ? 1 : 0
            return unsafe EVP_CipherInit_ex2(context, CryptoLibraries.cipher, key.base, nil, sealing, nil)
        }
        precondition(done == 1, "libcrypto refused ChaCha20-Poly1305")
        unsafe self.context = context
        unsafe tag = .allocate(capacity: 2)
        unsafe tag.initialize(to: OSSL_PARAM_construct_octet_string(Self.tagName, nil, TransportCipher.tagSize))
        unsafe (tag + 1).initialize(to: OSSL_PARAM_construct_end())
    }

    deinit {
        // libcrypto wipes the key with the context.
        unsafe EVP_CIPHER_CTX_free(context)
        unsafe tag.deallocate()
    }

    /// Encrypts bytes where they stand and writes the tag behind them.
    func seal(_ packet: UnsafeMutableRawPointer, _ length: Int, nonce: UnsafeRawPointer) -> Bool {
        guard unsafe begin(nonce), unsafe run(packet, length) else { return false }
        unsafe tag.pointee.data = unsafe packet + length
        return unsafe EVP_CIPHER_CTX_get_params(context, tag) == 1
    }

    /// Decrypts bytes where they stand, with the tag behind them.
    func open(_ packet: UnsafeMutableRawPointer, _ length: Int, nonce: UnsafeRawPointer) -> Bool {
        guard unsafe begin(nonce) else { return false }
        unsafe tag.pointee.data = unsafe packet + length
        return unsafe EVP_CIPHER_CTX_set_params(context, tag) == 1 && run(packet, length)
    }

    private func begin(_ nonce: UnsafeRawPointer) -> Bool {
        let bytes = unsafe nonce.assumingMemoryBound(to: UInt8.self)
        return unsafe EVP_CipherInit_ex2(context, nil, nil, bytes, -1, nil) == 1
    }

    private func run(_ packet: UnsafeMutableRawPointer, _ length: Int) -> Bool {
        let bytes = unsafe packet.assumingMemoryBound(to: UInt8.self)
        // EVP_Cipher answers a count of bytes, or -1; without input it finishes, and checks the tag.
        return unsafe (length == 0 || EVP_Cipher(context, bytes, bytes, UInt32(truncatingIfNeeded: length)) >= 0)
            && EVP_Cipher(context, bytes, nil, 0) >= 0
    }
}
