package import LinuxSystem
import TunnelCrypto

/// Secrets that are no items: what a memfd holds, sealed under the host key for a file that outlives its holders.
extension Keychain {
    /// The host key's fingerprint stands before what is sealed.
    private static let fingerprintBytes = SecretSeal.fingerprintSize

    /// - Parameters:
    ///   - memory: a sealed memfd.
    ///   - limit: as many bytes as it may have.
    ///   - purpose: must be the same at opening.
    /// - Throws: `locked`, `system`.
    package func seal(
        _ memory: SharedDescriptor,
        limit: Int,
        for purpose: String
    ) throws(KeychainError) -> [UInt8] {
        let key = try keys.sealingKey()
        do {
            return try unsafe MemoryFile.withContents(of: memory.raw, limit: limit) { bytes in
                key.fingerprint + key.seal(unsafe RawSpan(_unsafeBytes: bytes), additional: Array(purpose.utf8))
            }
        } catch let error as SystemError {
            throw .system(error)
        } catch {
            throw .locked("\(error)")
        }
    }

    /// The memfd again, as another sealed one.
    ///
    /// - Throws: `sealedUnderAnotherKey`, `locked`, `damaged`, `system`.
    package func openMemory(_ sealed: [UInt8], for purpose: String) throws(KeychainError) -> SharedDescriptor {
        guard sealed.count >= Self.fingerprintBytes + SecretSeal.overhead else {
            throw .damaged(reference: purpose, "it ends too early")
        }
        let key = try keys.key(Array(sealed.prefix(Self.fingerprintBytes)), of: purpose)
        let text = unsafe sealed.span.bytes.extracting(droppingFirst: Self.fingerprintBytes)
        var isOpened = false
        let file: OwnedDescriptor
        do throws(SystemError) {
            file = try unsafe MemoryFile.make(name: "memory", count: text.byteCount - SecretSeal.overhead) { room in
                isOpened = unsafe key.open(text, additional: Array(purpose.utf8), into: room)
            }
        } catch {
            throw .system(error)
        }
        guard isOpened else { throw .damaged(reference: purpose, "its seal doesn't fit") }
        return SharedDescriptor(file)
    }
}
