import NetworkTypes

/// Checks the two MACs of what comes in, and hands out cookies.
///
/// Source: WireGuard whitepaper, sections 5.4.4 and 5.4.7.
struct MessageChecker<C: Cryptography> {
    private let mac1Key: [UInt8]
    private let cookieKey: [UInt8]
    private var secret: (key: SecretKey, made: Instant)?

    init(own publicKey: PublicKey) {
        mac1Key = C.hash(Array("mac1----".utf8).raw, publicKey.bytes.raw)
        cookieKey = C.hash(Array("cookie--".utf8).raw, publicKey.bytes.raw)
    }

    /// Whether the sender knows our public key.
    ///
    /// Needs at least 32 bytes.
    func isMac1Valid(_ datagram: [UInt8]) -> Bool {
        guard datagram.count >= 32 else { return false }
        let mac = C.mac(Array(datagram.dropLast(32)).raw, key: mac1Key.raw)
        return areEqual(mac.raw, Array(datagram.suffix(32).prefix(16)).raw)
    }

    /// Whether the sender has received a cookie of ours at its source address.
    func isMac2Valid(_ datagram: [UInt8], from source: Endpoint, now: Instant) -> Bool {
        guard datagram.count >= 32, let secret, now < secret.made + Timing.cookie,
            datagram.suffix(16).contains(where: { $0 != 0 })
        else { return false }
        let cookie = Self.cookie(for: source, secret: secret.key)
        let mac = C.mac(Array(datagram.dropLast(16)).raw, key: cookie.raw)
        return areEqual(mac.raw, Array(datagram.suffix(16)).raw)
    }

    /// The reply that gives the sender of a message its cookie.
    mutating func reply(
        to datagram: [UInt8],
        from source: Endpoint,
        now: Instant,
        random: inout some RandomNumberGenerator
    ) -> CookieReplyMessage {
        let key: SecretKey
        if let secret, now < secret.made + Timing.cookie {
            key = secret.key
        } else {
            key = SecretKey(random: &random)
            secret = (key, now)
        }
        let nonce = (0..<24).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let sealed = C.sealCookie(
            Self.cookie(for: source, secret: key).raw,
            key: cookieKey.raw,
            nonce: nonce.raw,
            additional: Array(datagram.suffix(32).prefix(16)).raw
        )
        return CookieReplyMessage(receiver: datagram.littleEndian(at: 4), nonce: nonce, sealedCookie: sealed)
    }

    /// A cookie is bound to address and port: a sender that spoofs them never sees it.
    private static func cookie(for source: Endpoint, secret: SecretKey) -> [UInt8] {
        let port = [UInt8(truncatingIfNeeded: source.port >> 8), UInt8(truncatingIfNeeded: source.port)]
        return C.mac((source.address.bytes + port).raw, key: secret.bytes)
    }
}
