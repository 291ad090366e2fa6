import CCrypto
import CShims

/// ChaCha20-Poly1305 for the packets of one direction under one key.
///
/// The key is set up once; each packet costs one change of the nonce and one pass in place, without an allocation. An object
/// belongs to one queue at a time, that of its engine. This is the only face that the packet loop knows of the library
/// behind it (`CipherEngine`).
///
/// Nonce: four zero bytes, then the counter in little endian (WireGuard whitepaper, section 5.4.6).
@safe package final class TransportCipher {
    package enum Direction: Sendable { case seal, open }

    /// The bytes of a tag.
    package static let tagSize = 16

    /// Kept for its `jobs`.
    private let engine: CipherEngine
    private let jobs: OpaquePointer?
    /// The key, for intel-ipsec-mb, which reads it with each packet.
    private let key: SecretBytes
    /// libcrypto's, unless the engine has jobs.
    private let evp: EVPPacketCipher?
    /// 12 bytes of nonce, and at 16 a tag to compare with.
    private let scratch: UnsafeMutableRawPointer
    private static let tagOffset = 16

    /// Takes a key of 32 bytes; the caller may wipe it afterwards.
    package init(key: RawSpan, direction: Direction, with engine: CipherEngine) {
        precondition(key.byteCount == 32, "a key has 32 bytes")
        self.engine = engine
        unsafe jobs = unsafe engine.jobs
        unsafe scratch = .allocate(byteCount: 32, alignment: 16)
        unsafe scratch.initializeMemory(as: UInt8.self, repeating: 0, count: 32)
        self.key = SecretBytes(copying: unsafe jobs == nil ? RawSpan() : key)
        evp = unsafe jobs == nil ? EVPPacketCipher(key: key, direction: direction) : nil
    }

    deinit { unsafe scratch.deallocate() }

    /// Encrypts `plaintextLength` bytes where they stand and writes the 16 bytes of the tag behind them.
    ///
    /// A counter must never be used twice.
    ///
    /// - Returns: false where the library failed; the packet must then be dropped.
    package func seal(
        inPlace packet: UnsafeMutableRawPointer,
        plaintextLength: Int,
        counter: UInt64
    ) -> Bool {
        unsafe scratch.storeBytes(of: counter.littleEndian, toByteOffset: 4, as: UInt64.self)
        if let evp { return unsafe evp.seal(packet, plaintextLength, nonce: scratch) }
        return unsafe run(packet, plaintextLength, tag: packet + plaintextLength, sealing: true)
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
        unsafe scratch.storeBytes(of: counter.littleEndian, toByteOffset: 4, as: UInt64.self)
        if let evp { return unsafe evp.open(packet, length, nonce: scratch) }
        let tag = unsafe scratch + Self.tagOffset
        return unsafe run(packet, length, tag: tag, sealing: false)
            && CRYPTO_memcmp(tag, packet + length, Self.tagSize) == 0
    }

    private func run(
        _ packet: UnsafeMutableRawPointer,
        _ length: Int,
        tag: UnsafeMutableRawPointer,
        sealing: Bool
    ) -> Bool {
        unsafe key.withAddress { key in
            unsafe shim_ipsec_mb_chacha20_poly1305(jobs, key, scratch, packet, length, tag, sealing)
        }
    }
}
