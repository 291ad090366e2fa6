import TestSupport
import Testing

@testable import TunnelCrypto

private let empty: [UInt8] = []

/// With each backEnd that this machine has; the one that it must have is always among them.
@Suite struct TransportCipherTests {
    private let key = (0..<32).map { UInt8($0 * 7 & 255) }
    static let backEnds = CipherEngine.BackEnd.allCases.filter {
        $0 == .libcrypto || CipherEngine.ipsecMBRefusal == nil
    }

    @Test(arguments: backEnds, [0, 1, 15, 16, 17, 63, 64, 65, 1280, 1420, 65535 - 64])
    func `a packet is sealed as the message cipher seals it, and opened again`(
        backEnd: CipherEngine.BackEnd,
        length: Int
    ) throws {
        let plaintext = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let counter: UInt64 = 0x0102_0304_0506_0708
        let nonce: [UInt8] = [0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]
        let expected = ChaCha20Poly1305.seal(
            plaintext.raw,
            key: key.raw,
            nonce: nonce.raw,
            additional: empty.raw
        )
        let engine = try CipherEngine(backEnd)
        let sealer = TransportCipher(key: key.raw, direction: .seal, with: engine)
        let opener = TransportCipher(key: key.raw, direction: .open, with: engine)
        for _ in 0..<3 {
            var packet = plaintext + [UInt8](repeating: 0xee, count: 16)
            #expect(sealer.seal(&packet, length, counter))
            #expect(packet == expected)
            #expect(opener.open(&packet, counter))
            #expect(Array(packet.prefix(length)) == plaintext)
        }
    }

    @Test(arguments: backEnds)
    func `a packet that was changed, cut or moved to another counter doesn't open`(backEnd: CipherEngine.BackEnd) throws
    {
        let engine = try CipherEngine(backEnd)
        let sealer = TransportCipher(key: key.raw, direction: .seal, with: engine)
        let opener = TransportCipher(key: key.raw, direction: .open, with: engine)
        var sealed = [UInt8](repeating: 1, count: 80)
        #expect(sealer.seal(&sealed, 64, 5))
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 4
            #expect(!opener.open(&damaged, 5))
        }
        for length in 0..<80 {
            var cut = Array(sealed.prefix(length))
            #expect(!opener.open(&cut, 5))
        }
        var moved = sealed
        #expect(!opener.open(&moved, 6))
        #expect(opener.open(&sealed, 5))
        #expect(sealed.prefix(64).allSatisfy { $0 == 1 })
    }

    @Test(arguments: backEnds) func `each direction keeps to its own key`(backEnd: CipherEngine.BackEnd) throws {
        let other = [UInt8](repeating: 3, count: 32)
        let engine = try CipherEngine(backEnd)
        let sealer = TransportCipher(key: key.raw, direction: .seal, with: engine)
        let opener = TransportCipher(key: other.raw, direction: .open, with: engine)
        var packet = [UInt8](repeating: 1, count: 32)
        #expect(sealer.seal(&packet, 16, 0))
        #expect(!opener.open(&packet, 0))
    }

    /// RFC 8439's own example has additional data and a nonce that a packet hasn't; these bytes are by Python's `cryptography`.
    @Test(arguments: backEnds) func `the bytes are those of another implementation`(backEnd: CipherEngine.BackEnd)
        throws
    {
        let engine = try CipherEngine(backEnd)
        let key = (0..<32).map { UInt8(0x80 + $0) }
        let sealer = TransportCipher(key: key.raw, direction: .seal, with: engine)
        var packet = (0..<100).map { UInt8($0) } + [UInt8](repeating: 0, count: 16)
        #expect(sealer.seal(&packet, 100, 0x4746_4544_4342_4140))
        #expect(
            packet.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == """
                e819ad3e03ff60b0926900c2512d8ede5ac0044d8cc425dc41fcbeb1d520a906ddc0b59665983a93a2a535d86c71b9f8cc3a\
                c5d97ef307e281490e9a509f68308491aa53b9bc3ecfce272d77cda60a6732171906afaede07f2ece512bf8753e423a980ee\
                dc646607fec7309ac6a87d81a5de5110
                """
        )
    }

    @Test(arguments: backEnds)
    func `packets of random lengths are the same for every back end`(backEnd: CipherEngine.BackEnd) throws {
        var random = SystemRandomNumberGenerator()
        let engine = try CipherEngine(backEnd)
        let other = try CipherEngine(.libcrypto)
        let limits = [64, 2048, 65535]
        for round in 0..<300 {
            let key = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let counter = UInt64.random(in: 0 ... .max, using: &random)
            let length = Int.random(in: 0...limits[round % limits.count], using: &random)
            let plaintext = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            var (first, second) = (
                plaintext + [UInt8](repeating: 1, count: 16), plaintext + [UInt8](repeating: 2, count: 16)
            )
            let sealer = TransportCipher(key: key.raw, direction: .seal, with: engine)
            #expect(sealer.seal(&first, length, counter))
            let otherSealer = TransportCipher(key: key.raw, direction: .seal, with: other)
            #expect(otherSealer.seal(&second, length, counter))
            #expect(first == second, "key \(key), counter \(counter), \(length) bytes")
            let opener = TransportCipher(key: key.raw, direction: .open, with: engine)
            #expect(opener.open(&second, counter))
            #expect(second.prefix(length).elementsEqual(plaintext))
        }
    }

    @Test func `keys of one engine don't mix`() throws {
        for backEnd in Self.backEnds {
            let engine = try CipherEngine(backEnd)
            let keys = (0..<50).map { [UInt8](repeating: UInt8($0), count: 32) }
            let sealers = keys.map { TransportCipher(key: $0.raw, direction: .seal, with: engine) }
            var packets = keys.map { _ in [UInt8](repeating: 9, count: 116) }
            for index in keys.indices { #expect(sealers[index].seal(&packets[index], 100, 1)) }
            for index in keys.indices {
                let key = keys[index]
                let opener = TransportCipher(key: key.raw, direction: .open, with: engine)
                #expect(opener.open(&packets[index], 1))
                #expect(packets[index].prefix(100).allSatisfy { $0 == 9 })
            }
        }
    }
}
