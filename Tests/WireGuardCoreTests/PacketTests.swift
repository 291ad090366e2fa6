import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// The small pieces that the packet loop is built from.
@Suite struct PacketTests {
    @Test func `a transport header is read as it was written`() throws {
        var datagram = [UInt8](repeating: 0, count: 48)
        var span = datagram.mutableSpan
        var bytes = unsafe span.mutableBytes
        TransportHeader.write(receiver: 0x0403_0201, counter: 0x0c0b_0a09_0807_0605, into: &bytes)
        let header = try TransportHeader(parsing: bytes)
        #expect(header.receiver == 0x0403_0201)
        #expect(header.counter == 0x0c0b_0a09_0807_0605)
        #expect(header.plaintextLength == 16)
        #expect(Array(datagram.prefix(16)) == [4, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    }

    @Test func `what is no transport message is told from one`() {
        #expect(throws: PacketError.truncated(need: 32, have: 31)) {
            try parse([4, 0, 0, 0] + [UInt8](repeating: 0, count: 27))
        }
        #expect(throws: PacketError.truncated(need: 32, have: 0)) { try parse([]) }
        #expect(throws: PacketError.wrongType(5)) { try parse([5] + [UInt8](repeating: 0, count: 60)) }
        // A reserved byte that isn't zero.
        #expect(throws: PacketError.wrongType(0x100_0004)) {
            try parse([4, 0, 0, 1] + [UInt8](repeating: 0, count: 60))
        }
    }

    @Test(
        arguments: [
            ([1, 0, 0, 0], 148, DatagramKind.initiation), ([2, 0, 0, 0], 92, .response),
            ([3, 0, 0, 0], 64, .cookieReply),
            ([4, 0, 0, 0], 32, .transport), ([4, 0, 0, 0], 65535, .transport), ([1, 0, 0, 0], 147, .malformed),
            ([1, 0, 0, 0], 149, .malformed), ([2, 0, 0, 0], 148, .malformed), ([3, 0, 0, 0], 65, .malformed),
            ([4, 0, 0, 0], 31, .malformed), ([1, 0, 1, 0], 148, .malformed), ([0, 0, 0, 0], 148, .malformed),
            ([5, 0, 0, 0], 148, .malformed), ([], 0, .malformed),
        ] as [([UInt8], Int, DatagramKind)]
    )
    func `a datagram's kind follows from type and length`(start: [UInt8], length: Int, kind: DatagramKind) {
        var datagram = start + [UInt8](repeating: 0, count: length - start.count)
        var span = datagram.mutableSpan
        #expect(DatagramKind(of: unsafe span.mutableBytes) == kind)
    }

    @Test(arguments: [
        (0, 0), (1, 16), (16, 16), (17, 32), (1279, 1280), (1404, 1408), (1408, 1408), (1409, 1420), (1420, 1420),
        (1421, 1436), (2840, 2840), (2841, 2856),
    ])
    func `packets are padded to 16 but not beyond the MTU`(length: Int, padded: Int) {
        #expect(PacketPadding.paddedLength(of: length, mtu: 1420) == padded)
    }

    @Test func `a counter is given once, and none beyond the limit`() {
        var counter = SendCounter()
        #expect((0..<3).map { _ in counter.take() } == [0, 1, 2])
        let upcoming = counter.upcoming
        #expect(upcoming == 3)
    }

    @Test(
        arguments: [
            // Age in seconds, initiator, next counter; due when sending, due when receiving, rejected.
            (119, true, 0, false, false, false), (120, true, 0, true, false, false),
            (120, false, 0, false, false, false),
            (164, true, 0, true, false, false), (165, true, 0, true, true, false), (179, false, 0, false, false, false),
            (180, false, 0, false, false, true), (0, false, 1 << 60, true, false, false),
            (0, true, (1 << 60) - 1, false, false, false), (0, true, UInt64.max - 8192, true, false, true),
        ] as [(Int, Bool, UInt64, Bool, Bool, Bool)]
    )
    func `a session's age and use call for a rekey, and end it`(
        age: Int,
        isInitiator: Bool,
        counter: UInt64,
        onSend: Bool,
        onReceive: Bool,
        isRejected: Bool
    ) {
        let created = Instant(nanoseconds: 77)
        let now = created + .seconds(age)
        #expect(
            SessionLimits.isRekeyDueOnSend(createdAt: created, isInitiator: isInitiator, counter: counter, now: now)
                == onSend
        )
        #expect(
            SessionLimits.isRekeyDueOnReceive(createdAt: created, isInitiator: isInitiator, now: now) == onReceive
        )
        #expect(SessionLimits.isRejected(createdAt: created, counter: counter, now: now) == isRejected)
    }

    private func parse(_ datagram: [UInt8]) throws(PacketError) {
        var datagram = datagram
        var span = datagram.mutableSpan
        _ = try TransportHeader(parsing: unsafe span.mutableBytes)
    }
}
