import FoundationEssentials
import Testing
import WireGuardConfig

@Suite struct KeyTests {
    @Test func `a key is written as base64, and read back`() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let bytes = random.bytes(32)
            let text = Data(bytes).base64EncodedString()
            #expect(WireGuardPublicKey(bytes: bytes)?.description == text)
            #expect(WireGuardPublicKey(text)?.bytes == bytes)
        }
    }

    @Test func `of all last characters only those with zero spare bits are taken`() {
        let stem = Sample.peers[0].prefix(42)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        let taken = alphabet.filter { WireGuardPublicKey("\(stem)\($0)=") != nil }
        #expect(taken == "AEIMQUYcgkosw048")
    }

    @Test func `a byte outside the alphabet is refused at every position`() {
        let key = Array(Sample.peers[0].utf8)
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for position in 0..<44 {
            for byte in 0...127 as ClosedRange<UInt8> where byte != key[position] {
                if alphabet.contains(byte), position < 43 { continue }
                var copy = key
                copy[position] = byte
                #expect(WireGuardPublicKey(String(decoding: copy, as: UTF8.self)) == nil, "\(position) \(byte)")
            }
        }
    }

    @Test func `a public key has 32 bytes that aren't all zero`() {
        #expect(WireGuardPublicKey(bytes: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(WireGuardPublicKey(bytes: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(WireGuardPublicKey(bytes: [UInt8](repeating: 1, count: 33)) == nil)
    }

    // MARK: Secrets

    @Test func `secrets are found under their references, however many there are`() {
        var secrets = ConfigurationSecrets()
        let keys = (0..<100 as Range<UInt8>).map { [UInt8](repeating: $0, count: 32) }
        for (index, key) in keys.enumerated() { secrets.insert(key, for: "reference-\(index)") }
        #expect(secrets.references == (0..<100).map { "reference-\($0)" })
        for (index, key) in keys.enumerated() {
            let found = secrets.bytes(for: "reference-\(index)")
            #expect(found == key)
        }
        let unknown = secrets.bytes(for: "reference-100")
        #expect(unknown == nil)
    }

    @Test func `a second secret of one reference takes the place of the first`() {
        var secrets = ConfigurationSecrets()
        secrets.insert([UInt8](repeating: 1, count: 32), for: "a")
        secrets.insert([UInt8](repeating: 2, count: 32), for: "a")
        #expect(secrets.references == ["a"])
        let found = secrets.bytes(for: "a")
        #expect(found == [UInt8](repeating: 2, count: 32))
    }

    @Test func `a secret of another length than 32 is refused`() {
        var secrets = ConfigurationSecrets()
        let short = unsafe secrets.insert([1, 2, 3].span.bytes, for: "a")
        #expect(!short)
        let isEmpty = secrets.references.isEmpty
        #expect(isEmpty)
    }
}
