import CShims
import Testing

@testable import Netlink

@Suite struct NetlinkMessageTests {
    @Test func `the writer fills in lengths, padding and nesting`() {
        var writer = NetlinkWriter()
        writer.put(1, string: "abc")
        writer.put(2, UInt8(7))
        writer.nest(3) { $0.put(4, UInt16(0x0102)) }
        #expect(
            writer.bytes == [
                8, 0, 1, 0, 97, 98, 99, 0,  // "abc" and its zero
                5, 0, 2, 0, 7, 0, 0, 0,  // one byte, three of padding
                12, 0, 3, 0, 6, 0, 4, 0, 2, 1, 0, 0,  // the inner attribute's padding belongs to the outer one
            ]
        )
    }

    @Test func `what was written is read`() throws {
        var writer = NetlinkWriter()
        writer.header(rtmsg())
        writer.put(1, UInt32(0xdead_beef))
        writer.put(0x4002, bytes: [1, 2, 3])  // a flag of the type (NLA_F_NET_BYTEORDER) is no part of it
        writer.nest(3) { $0.put(5, string: "x") }
        let message = NetlinkMessage(type: 1, flags: 0, sequence: 0, payload: writer.bytes[...])
        let attributes = try message.read(rtmsg.self).attributes
        #expect(attributes.number(1, as: UInt32.self) == 0xdead_beef)
        #expect(attributes[2].map(Array.init) == [1, 2, 3])
        #expect(try attributes.nested(3)?.string(5) == "x")
        #expect(attributes[9] == nil)
        #expect(attributes.number(2, as: UInt32.self) == nil, "three bytes are no number of four")
    }

    @Test(arguments: [
        [3, 0, 1, 0] as [UInt8],  // below its own header: would never end
        [0, 0, 1, 0],
        [9, 0, 1, 0, 1, 2, 3, 4],  // one byte beyond
        [255, 255, 1, 0, 1, 2, 3, 4],
        [4, 0, 1, 0, 8, 0, 2, 0],
    ])
    func `an attribute below four bytes or beyond the rest is refused`(bytes: [UInt8]) {
        #expect(throws: NetlinkError.self) { try NetlinkAttributes(bytes[...]) }
    }

    @Test(arguments: [
        [UInt8](repeating: 0, count: 15),  // shorter than a header
        [15, 0, 0, 0] + [UInt8](repeating: 0, count: 12),
        [17, 0, 0, 0] + [UInt8](repeating: 0, count: 12),
        [0, 0, 0, 0x80] + [UInt8](repeating: 0, count: 12),
    ])
    func `a message of a wrong length is refused`(bytes: [UInt8]) {
        #expect(throws: NetlinkError.self) { try NetlinkMessage.split(bytes) }
    }

    @Test func `any bytes are read or refused, never worse`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in UInt8.random(in: 0...40) }
            // Mostly with a length that fits, so that the inside is reached.
            if bytes.count >= 16, Bool.random() { bytes.replaceSubrange(0..<4, with: [UInt8(bytes.count), 0, 0, 0]) }
            guard let messages = try? NetlinkMessage.split(bytes) else { continue }
            for message in messages {
                _ = try? message.verdict()
                if let attributes = try? message.read(ifinfomsg.self).attributes {
                    for attribute in attributes.all { _ = try? NetlinkAttributes(attribute.value) }
                }
            }
        }
    }
}
