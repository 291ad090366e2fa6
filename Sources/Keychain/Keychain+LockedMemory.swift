package import LinuxSystem
import TunnelCrypto

extension Keychain {
    /// Has the libraries keep nothing of a secret in memory that they have given back.
    ///
    /// Called once, before anything else of this module.
    package static func wipeFreedMemory() { CryptoLibraries.wipeFreedMemory() }

    /// Sets who is told, once, that memory for secrets can't be kept from being swapped.
    package static func onLockFailure(_ body: @escaping @Sendable (SystemError) -> Void) {
        SecretArena.shared.onLockFailure(body)
    }
}
