import TestSupport
import Testing
import TunnelCrypto

private let empty: [UInt8] = []

@Suite struct TransportCipherTests {
    private let key = (0..<32).map { UInt8($0 * 7 & 255) }

    @Test(arguments: [0, 1, 15, 16, 17, 63, 64, 65, 1280, 1420, 65535 - 64])
    func `a packet is sealed as the message cipher seals it, and opened again`(length: Int) {
        let plaintext = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let counter: UInt64 = 0x0102_0304_0506_0708
        let nonce: [UInt8] = [0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]
        let expected = ChaCha20Poly1305.seal(
            plaintext.raw,
            key: key.raw,
            nonce: nonce.raw,
            additional: empty.raw
        )
        let sealer = TransportCipher(key: key.raw, direction: .seal)
        let opener = TransportCipher(key: key.raw, direction: .open)
        for _ in 0..<3 {
            var packet = plaintext + [UInt8](repeating: 0xee, count: 16)
            #expect(sealer.seal(&packet, length, counter))
            #expect(packet == expected)
            #expect(opener.open(&packet, counter))
            #expect(Array(packet.prefix(length)) == plaintext)
        }
    }

    @Test func `a packet that was changed, cut or moved to another counter doesn't open`() {
        let sealer = TransportCipher(key: key.raw, direction: .seal)
        let opener = TransportCipher(key: key.raw, direction: .open)
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

    @Test func `each direction keeps to its own key`() {
        let other = [UInt8](repeating: 3, count: 32)
        let sealer = TransportCipher(key: key.raw, direction: .seal)
        let opener = TransportCipher(key: other.raw, direction: .open)
        var packet = [UInt8](repeating: 1, count: 32)
        #expect(sealer.seal(&packet, 16, 0))
        #expect(!opener.open(&packet, 0))
    }
}

extension TransportCipher {
    fileprivate func seal(_ packet: inout [UInt8], _ length: Int, _ counter: UInt64) -> Bool {
        unsafe packet.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe seal(inPlace: base, plaintextLength: length, counter: counter)
        }
    }

    fileprivate func open(_ packet: inout [UInt8], _ counter: UInt64) -> Bool {
        unsafe packet.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe open(inPlace: base, ciphertextLength: bytes.count, counter: counter)
        }
    }
}
