import CCrypto
import Glibc

/// ChaCha20-Poly1305 for the packets of one direction under one key.
///
/// The key is set up once; each packet costs one change of the nonce and one pass in place, without an allocation. An object
/// belongs to one queue at a time. This is the only face that the packet loop knows, so that another library can stand
/// behind it.
///
/// Nonce: four zero bytes, then the counter in little endian (WireGuard whitepaper, section 5.4.6).
@safe package final class TransportCipher {
    package enum Direction: Sendable { case seal, open }

    /// The bytes of a tag.
    package static let tagSize = 16

    private let context: OpaquePointer
    private let nonce: UnsafeMutableRawPointer
    /// The argument list that tells libcrypto where the tag of this packet stands.
    private let tag: UnsafeMutablePointer<OSSL_PARAM>

    /// The name of the argument, for as long as the process lives: libcrypto reads it with every packet.
    nonisolated(unsafe) private static let tagName = unsafe strdup(OSSL_CIPHER_PARAM_AEAD_TAG)

    /// Takes a key of 32 bytes; the caller may wipe it afterwards.
    package init(key: RawSpan, direction: Direction) {
        precondition(key.byteCount == 32, "a key has 32 bytes")
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("libcrypto: out of memory") }
        let done = unsafe key.withUnsafeBytes { key in
            let sealing: Int32 = direction == .seal ? 1 : 0
            return unsafe EVP_CipherInit_ex2(context, CryptoLibraries.cipher, key.base, nil, sealing, nil)
        }
        precondition(done == 1, "libcrypto refused ChaCha20-Poly1305")
        unsafe self.context = context
        unsafe nonce = .allocate(byteCount: 12, alignment: 4)
        unsafe nonce.initializeMemory(as: UInt8.self, repeating: 0, count: 12)
        unsafe tag = .allocate(capacity: 2)
        unsafe tag.initialize(
            to: OSSL_PARAM_construct_octet_string(Self.tagName, nonce, Self.tagSize)
        )
        unsafe (tag + 1).initialize(to: OSSL_PARAM_construct_end())
    }

    deinit {
        // libcrypto wipes the key with the context.
        unsafe EVP_CIPHER_CTX_free(context)
        unsafe nonce.deallocate()
        unsafe tag.deallocate()
    }

    /// Encrypts `plaintextLength` bytes where they stand and writes the 16 bytes of the tag behind them.
    ///
    /// A counter must never be used twice.
    ///
    /// - Returns: false where libcrypto failed; the packet must then be dropped.
    package func seal(
        inPlace packet: UnsafeMutableRawPointer,
        plaintextLength: Int,
        counter: UInt64
    ) -> Bool {
        unsafe begin(counter)
            && run(packet, plaintextLength)
            && setTag(packet + plaintextLength)
            && EVP_CIPHER_CTX_get_params(context, tag) == 1
    }

    /// Decrypts `ciphertextLength` bytes where they stand, the 16 bytes of the tag included.
    ///
    /// The plaintext has 16 bytes less.
    ///
    /// - Returns: false where the packet isn't authentic; its bytes are then of no use and must be looked at by nobody.
    package func open(
        inPlace packet: UnsafeMutableRawPointer,
        ciphertextLength: Int,
        counter: UInt64
    ) -> Bool {
        let length = ciphertextLength - Self.tagSize
        guard length >= 0 else { return false }
        return unsafe begin(counter)
            && setTag(packet + length)
            && EVP_CIPHER_CTX_set_params(context, tag) == 1
            && run(packet, length)
    }

    private func begin(_ counter: UInt64) -> Bool {
        unsafe nonce.storeBytes(of: counter.littleEndian, toByteOffset: 4, as: UInt64.self)
        let bytes = unsafe nonce.assumingMemoryBound(to: UInt8.self)
        return unsafe EVP_CipherInit_ex2(context, nil, nil, bytes, -1, nil) == 1
    }

    private func setTag(_ place: UnsafeMutableRawPointer) -> Bool {
        unsafe tag.pointee.data = unsafe place
        return true
    }

    private func run(_ packet: UnsafeMutableRawPointer, _ length: Int) -> Bool {
        let bytes = unsafe packet.assumingMemoryBound(to: UInt8.self)
        // EVP_Cipher answers a count of bytes, or -1; without input it finishes, and checks the tag.
        return unsafe (length == 0 || EVP_Cipher(context, bytes, bytes, UInt32(truncatingIfNeeded: length)) >= 0)
            && EVP_Cipher(context, bytes, nil, 0) >= 0
    }
}
