import CCrypto
import CSodium

/// The algorithms of libcrypto and libsodium, looked up once for the whole process.
///
/// A look-up takes a microsecond and a lock, so none happens per message.
package enum CryptoLibraries {
    /// Looks everything up that this module uses.
    ///
    /// A program calls it once at its start. After it has returned, no function of this module fails for want of an
    /// algorithm; without the call such a failure ends the process.
    ///
    /// - Throws: `algorithmMissing` or `unusableLibrary`.
    package static func check() throws(CryptoError) {
        guard isSodiumReady else { throw .unusableLibrary("libsodium") }
        guard unsafe cipher != nil else { throw .algorithmMissing("ChaCha20-Poly1305") }
        guard unsafe digest != nil else { throw .algorithmMissing("BLAKE2s-256") }
        guard keyedHash != nil else { throw .algorithmMissing("BLAKE2SMAC") }
        guard hmac != nil else { throw .algorithmMissing("HMAC") }
        guard X25519.isOffered else { throw .algorithmMissing("X25519") }
    }

    /// Whether sodium_init(3) has succeeded; it may be called more than once and from any thread.
    static let isSodiumReady = sodium_init() >= 0

    /// Fetched objects of libcrypto are immutable and counted atomically (crypto(7)), so all threads may share them.
    nonisolated(unsafe) static let cipher = unsafe EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil)
    nonisolated(unsafe) static let digest = unsafe EVP_MD_fetch(nil, "BLAKE2S-256", nil)
    static let keyedHash = MessageAuthenticator(algorithm: "BLAKE2SMAC", size: 16, digest: nil)
    static let hmac = MessageAuthenticator(algorithm: "HMAC", size: nil, digest: "BLAKE2S-256")
}
