import LinuxSystem
package import NetworkTypes
package import WireGuardCore

/// Two ends' keys for one session: what one seals, the other opens.
package struct SessionPair {
    package let initiator: SessionKeys
    package let responder: SessionKeys

    package init(_ number: UInt8 = 1, createdAt: Instant = .now()) {
        let (a, b) = (secret(number), secret(number &+ 100))
        initiator = SessionKeys(
            sendKey: a,
            receiveKey: b,
            localIndex: 0x0100 + UInt32(number),
            remoteIndex: 0x0200 + UInt32(number),
            isInitiator: true,
            createdAt: createdAt
        )
        responder = SessionKeys(
            sendKey: b,
            receiveKey: a,
            localIndex: 0x0200 + UInt32(number),
            remoteIndex: 0x0100 + UInt32(number),
            isInitiator: false,
            createdAt: createdAt
        )
    }
}

private func secret(_ byte: UInt8) -> SecretKey {
    SecretKey { bytes in
        for offset in 0..<SecretKey.byteCount { bytes.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self) }
    }
}
