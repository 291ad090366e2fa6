/// The first message of a handshake, without its MACs.
///
/// Layout, little endian: type 1 and three zeros, sender 4, ephemeral 32, static key sealed 48, timestamp sealed 28; then
/// mac1 16, mac2 16. Source: WireGuard whitepaper, section 5.4.2.
struct InitiationMessage {
    let sender: UInt32
    let ephemeral: [UInt8]
    let sealedStatic: [UInt8]
    let sealedTimestamp: [UInt8]

    init(sender: UInt32, ephemeral: [UInt8], sealedStatic: [UInt8], sealedTimestamp: [UInt8]) {
        self.sender = sender
        self.ephemeral = ephemeral
        self.sealedStatic = sealedStatic
        self.sealedTimestamp = sealedTimestamp
    }

    /// Reads a whole datagram that `DatagramKind` has found to be an initiation.
    init?(parsing datagram: [UInt8]) {
        guard datagram.count == DatagramKind.initiationSize else { return nil }
        sender = datagram.littleEndian(at: 4)
        ephemeral = Array(datagram[8..<40])
        sealedStatic = Array(datagram[40..<88])
        sealedTimestamp = Array(datagram[88..<116])
    }

    var bytes: [UInt8] { [1, 0, 0, 0] + sender.littleEndianBytes + ephemeral + sealedStatic + sealedTimestamp }
}

/// The second message of a handshake, without its MACs.
///
/// Layout, little endian: type 2 and three zeros, sender 4, receiver 4, ephemeral 32, nothing sealed 16; then mac1 16,
/// mac2 16. Source: WireGuard whitepaper, section 5.4.3.
struct ResponseMessage {
    let sender: UInt32
    let receiver: UInt32
    let ephemeral: [UInt8]
    let sealedNothing: [UInt8]

    init(sender: UInt32, receiver: UInt32, ephemeral: [UInt8], sealedNothing: [UInt8]) {
        self.sender = sender
        self.receiver = receiver
        self.ephemeral = ephemeral
        self.sealedNothing = sealedNothing
    }

    /// Reads a whole datagram that `DatagramKind` has found to be a response.
    init?(parsing datagram: [UInt8]) {
        guard datagram.count == DatagramKind.responseSize else { return nil }
        sender = datagram.littleEndian(at: 4)
        receiver = datagram.littleEndian(at: 8)
        ephemeral = Array(datagram[12..<44])
        sealedNothing = Array(datagram[44..<60])
    }

    var bytes: [UInt8] {
        [2, 0, 0, 0] + sender.littleEndianBytes + receiver.littleEndianBytes + ephemeral + sealedNothing
    }
}

/// What an end under load answers instead: a cookie, sealed for whoever sent the message with this mac1.
///
/// Layout, little endian: type 3 and three zeros, receiver 4, nonce 24, cookie sealed 32. Source: WireGuard whitepaper,
/// section 5.4.7.
struct CookieReplyMessage {
    let receiver: UInt32
    let nonce: [UInt8]
    let sealedCookie: [UInt8]

    init(receiver: UInt32, nonce: [UInt8], sealedCookie: [UInt8]) {
        self.receiver = receiver
        self.nonce = nonce
        self.sealedCookie = sealedCookie
    }

    /// Reads a whole datagram that `DatagramKind` has found to be a cookie reply.
    init?(parsing datagram: [UInt8]) {
        guard datagram.count == DatagramKind.cookieReplySize else { return nil }
        receiver = datagram.littleEndian(at: 4)
        nonce = Array(datagram[8..<32])
        sealedCookie = Array(datagram[32..<64])
    }

    var bytes: [UInt8] { [3, 0, 0, 0] + receiver.littleEndianBytes + nonce + sealedCookie }
}

extension [UInt8] {
    /// The four bytes at a place that must be inside, as a number.
    func littleEndian(at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(self[offset + $1]) << UInt32($1 * 8) }
    }
}

extension UInt32 {
    var littleEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> UInt32($0 * 8)) } }
}
