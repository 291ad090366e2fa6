import CSodium

/// The kernel's random numbers through libsodium (randombytes_random(3)): unpredictable, for keys and indices.
package struct SecureRandom: RandomNumberGenerator, Sendable {
    package init() { precondition(CryptoLibraries.isSodiumReady, "libsodium could not be started") }

    package mutating func next() -> UInt64 {
        var value: UInt64 = 0
        unsafe randombytes_buf(&value, 8)
        return value
    }
}
