import NetworkTypes

/// Puts the two MACs on handshake messages to one peer, and keeps the cookie that it has sent us.
///
/// Source: WireGuard whitepaper, section 5.4.4.
struct MessageSigner<C: Cryptography> {
    private let mac1Key: [UInt8]
    private let cookieKey: [UInt8]
    private var cookie: (bytes: [UInt8], received: Instant)?
    /// mac1 of the last message, to which a cookie reply may answer; each one once.
    private var lastMac1: [UInt8]?

    init(peer: PublicKey) {
        mac1Key = C.hash(Array("mac1----".utf8).raw, peer.bytes.raw)
        cookieKey = C.hash(Array("cookie--".utf8).raw, peer.bytes.raw)
    }

    /// Whether the next message will carry a cookie's MAC.
    func hasCookie(at now: Instant) -> Bool {
        cookie.map { now < $0.received + Timing.cookie + Timing.cookieLatency * -1 } ?? false
    }

    /// The message with mac1, and mac2 or zeros, behind it.
    mutating func sign(_ message: [UInt8], now: Instant) -> [UInt8] {
        let mac1 = C.mac(message.raw, key: mac1Key.raw)
        lastMac1 = mac1
        let signed = message + mac1
        guard let cookie, hasCookie(at: now) else { return signed + [UInt8](repeating: 0, count: 16) }
        return signed + C.mac(signed.raw, key: cookie.bytes.raw)
    }

    /// Takes a cookie out of a reply to our last message; a reply that doesn't open changes nothing.
    mutating func accept(_ reply: CookieReplyMessage, now: Instant) -> Bool {
        guard let mac1 = lastMac1,
            let bytes = C.openCookie(
                reply.sealedCookie.raw,
                key: cookieKey.raw,
                nonce: reply.nonce.raw,
                additional: mac1.raw
            ), bytes.count == 16
        else { return false }
        cookie = (bytes, now)
        lastMac1 = nil
        return true
    }
}
