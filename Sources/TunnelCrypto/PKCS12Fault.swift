/// Why a PKCS#12 identity can't be used.
package enum PKCS12Fault: Error, Hashable, Sendable {
    /// It isn't PKCS#12, or cut.
    case damaged
    case wrongPassword
    /// A password with a zero byte, which no PKCS#12 has.
    case passwordHasZero
    /// libcrypto doesn't offer what it is encrypted with.
    case unsupported
    /// It asks for more key derivation than anybody's program writes.
    case tooManyIterations
    case noPrivateKey
    /// No certificate in it belongs to its private key.
    case noCertificate
    /// Seconds since 1970 when it becomes valid.
    case notYetValid(Int64)
    /// Seconds since 1970 when it was valid last.
    case expired(Int64)
}
