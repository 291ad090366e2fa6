import TunnelCrypto

/// A key that items are sealed under.
final class HostKey: Sendable {
    /// Stands in the items that are sealed under it.
    let fingerprint: [UInt8]
    private let key: SecretBytes

    /// - Parameter key: `SecretSeal.keySize` bytes.
    init(_ key: consuming SecretBytes) {
        fingerprint = SecretSeal.fingerprint(of: key)
        self.key = key
    }

    func seal(_ secret: RawSpan, additional: [UInt8]) -> [UInt8] {
        SecretSeal.seal(secret, key: key, additional: unsafe additional.span.bytes)
    }

    func open(_ sealed: RawSpan, additional: [UInt8]) -> SecretBytes? {
        SecretSeal.open(sealed, key: key, additional: unsafe additional.span.bytes)
    }

    /// Opens what was sealed into memory of its own length.
    func open(_ sealed: RawSpan, additional: [UInt8], into room: UnsafeMutableRawBufferPointer) -> Bool {
        unsafe SecretSeal.open(sealed, key: key, additional: additional.span.bytes, into: room)
    }
}
