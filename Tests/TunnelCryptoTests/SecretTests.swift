import NetworkTypes
import TestSupport
import Testing
import TunnelCrypto

@Suite struct SecretTests {
    @Test func `the libraries offer all that is used`() {
        #expect(throws: Never.self) { try CryptoLibraries.check() }
    }

    @Test func `a new key pair has the fixed bits of an X25519 key and belongs together`() {
        let pair = KeyPair()
        let key = pair.privateKey.array
        #expect(key.count == 32)
        #expect(key[0] & 7 == 0)
        #expect(key[31] & 0xc0 == 0x40)
        #expect(X25519.publicKey(of: key.raw) == pair.publicKey)
        let other = KeyPair()
        #expect(other.publicKey != pair.publicKey)
        #expect(agree(key, other.publicKey) != nil)
        #expect(agree(key, other.publicKey) == agree(other.privateKey.array, pair.publicKey))
    }

    @Test(arguments: [
        // Points of small order (https://cr.yp.to/ecdh.html#validate).
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func `a public key that makes the secret all zero is refused`(point: String) throws {
        let point = try #require([UInt8](hex: point))
        #expect(agree(KeyPair().privateKey.array, point) == nil)
    }

    @Test func `keys of a wrong length are refused`() {
        #expect(agree([UInt8](repeating: 1, count: 31), [UInt8](repeating: 9, count: 32)) == nil)
        #expect(agree([UInt8](repeating: 1, count: 32), [UInt8](repeating: 9, count: 33)) == nil)
    }

    @Test func `secrets are compared by their bytes and their length`() {
        let secret = SecretBytes(copying: [1, 2, 3].raw)
        let copy = secret.copy()
        let (equal, other, shorter) = (copy.array, [1, 2, 4] as [UInt8], [1, 2] as [UInt8])
        let isEqual = secret.isEqual(to: equal.raw)
        #expect(isEqual)
        let isOther = secret.isEqual(to: other.raw)
        #expect(!isOther)
        let isShorter = secret.isEqual(to: shorter.raw)
        #expect(!isShorter)
    }

    @Test func `random bytes differ from draw to draw`() {
        #expect(SecretBytes(randomCount: 32).array != SecretBytes(randomCount: 32).array)
        var random = SecureRandom()
        #expect(Set((0..<64).map { _ in random.next() }).count == 64)
    }

    @Test func `the text of a key is read back, and agrees with base64`() {
        // Origin: base64 of Python.
        let counting = (0..<32).map { UInt8($0) }
        #expect(KeyText.encode(counting) == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        let high = (0..<32).map { UInt8(255 - $0) }
        #expect(KeyText.encode(high) == "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=")
        for _ in 0..<200 {
            let key = SecretBytes(randomCount: 32).array
            #expect(KeyText.decode(KeyText.encode(key)) == key)
        }
    }

    @Test(arguments: [
        "", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8 ", "-AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "=AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==",
        " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdH\u{e9}=",
    ])
    func `what is no key's text is refused`(text: String) {
        #expect(KeyText.decode(text) == nil)
    }
}
