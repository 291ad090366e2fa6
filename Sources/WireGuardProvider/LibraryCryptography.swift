package import TunnelCrypto
package import WireGuardCore

extension LibraryCryptography: Cryptography {}

/// The protocol of one device over the libraries' functions and the kernel's random numbers.
package typealias LibraryDeviceCore = DeviceCore<LibraryCryptography, SecureRandom>
