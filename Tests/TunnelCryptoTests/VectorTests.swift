import TestSupport
import Testing
import TunnelCrypto

private let empty: [UInt8] = []

/// The primitives against published vectors.
@Suite struct VectorTests {
    @Test func `X25519 gives the shared secrets and public keys of RFC 7748`() throws {
        for record in try HexFixture("x25519.hex").records {
            let privateKey = try record.bytes("private")
            #expect(try agree(privateKey, record.bytes("public"))?.hex == record["shared"]?.hex)
            if let own = record["own"] { #expect(X25519.publicKey(of: privateKey.raw) == own) }
        }
    }

    @Test func `ChaCha20-Poly1305 seals and opens as RFC 8439 says`() throws {
        for record in try HexFixture("chacha20poly1305.hex").records {
            let (key, nonce) = try (record.bytes("key"), record.bytes("nonce"))
            let (additional, plaintext) = try (record.bytes("additional"), record.bytes("plaintext"))
            let sealed = ChaCha20Poly1305.seal(
                plaintext.raw,
                key: key.raw,
                nonce: nonce.raw,
                additional: additional.raw
            )
            #expect(sealed.hex == record["sealed"]?.hex)
            #expect(open(sealed, key, nonce, additional) == plaintext)
            for index in sealed.indices {
                var damaged = sealed
                damaged[index] ^= 1
                #expect(open(damaged, key, nonce, additional) == nil)
            }
            #expect(open(sealed, key, nonce, []) == nil)
            #expect(open(Array(sealed.prefix(15)), key, nonce, additional) == nil)
        }
    }

    @Test func `XChaCha20-Poly1305 seals and opens as its draft says`() throws {
        for record in try HexFixture("xchacha20poly1305.hex").records {
            let (key, nonce) = try (record.bytes("key"), record.bytes("nonce"))
            let (additional, plaintext) = try (record.bytes("additional"), record.bytes("plaintext"))
            let sealed = XChaCha20Poly1305.seal(
                plaintext.raw,
                key: key.raw,
                nonce: nonce.raw,
                additional: additional.raw
            )
            #expect(sealed.hex == record["sealed"]?.hex)
            let open = { (sealed: [UInt8]) in
                XChaCha20Poly1305.open(
                    sealed.raw,
                    key: key.raw,
                    nonce: nonce.raw,
                    additional: additional.raw
                )
            }
            #expect(open(sealed) == plaintext)
            for index in sealed.indices {
                var damaged = sealed
                damaged[index] ^= 0x80
                #expect(open(damaged) == nil)
            }
            #expect(open(Array(sealed.prefix(15))) == nil)
        }
    }

    @Test func `BLAKE2s hashes, authenticates and serves HMAC as published`() throws {
        for record in try HexFixture("blake2s.hex").records {
            let message = record["message"] ?? []
            #expect(Blake2s.hash(message.raw, empty.raw).hex == record["hash"]?.hex)
            let cut = message.count / 3
            let (first, second) = (Array(message[..<cut]), Array(message[cut...]))
            #expect(Blake2s.hash(first.raw, second.raw).hex == record["hash"]?.hex)
            guard let key = record["key"] else { continue }
            #expect(Blake2s.mac(message.raw, key: key.raw).hex == record["mac"]?.hex)
            var hmac = SecretBytes(zeroCount: 32)
            hmac.withMutableBytes { output in Blake2s.hmac(message.raw, key: key.raw, into: &output) }
            #expect(hmac.array.hex == record["hmac"]?.hex)
        }
    }

    private func open(_ sealed: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ additional: [UInt8]) -> [UInt8]? {
        var plaintext = SecretBytes(zeroCount: max(0, sealed.count - 16))
        let isAuthentic = plaintext.withMutableBytes { output in
            ChaCha20Poly1305.open(
                sealed.raw,
                key: key.raw,
                nonce: nonce.raw,
                additional: additional.raw,
                into: &output
            )
        }
        return isAuthentic ? plaintext.array : nil
    }
}

extension SecretBytes {
    var array: [UInt8] {
        let bytes = bytes
        return (0..<count).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    }

}

/// The shared secret of a private and a public key; nil where it is refused.
func agree(_ privateKey: [UInt8], _ publicKey: [UInt8]) -> [UInt8]? {
    var shared = SecretBytes(zeroCount: 32)
    let isAgreed = shared.withMutableBytes { output in
        X25519.sharedSecret(privateKey: privateKey.raw, publicKey: publicKey.raw, into: &output)
    }
    return isAgreed ? shared.array : nil
}
