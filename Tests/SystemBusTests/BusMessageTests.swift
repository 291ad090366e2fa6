import Testing

@testable import SystemBus

@Suite struct BusMessageTests {
    /// By hand from the specification; the integration tests talk to a real bus.
    @Test func `a call is written as the specification says`() {
        var hello = BusMessage.call("Hello", on: "org.a.B", of: "org.a", at: "/a")
        hello.serial = 1
        let wanted: [UInt8] =
            [0x6C, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 62, 0, 0, 0]
            + [1, 1, 0x6F, 0, 2, 0, 0, 0] + Array("/a".utf8) + [0, 0, 0, 0, 0, 0]
            + [2, 1, 0x73, 0, 7, 0, 0, 0] + Array("org.a.B".utf8) + [0]
            + [3, 1, 0x73, 0, 5, 0, 0, 0] + Array("Hello".utf8) + [0, 0, 0]
            + [6, 1, 0x73, 0, 5, 0, 0, 0] + Array("org.a".utf8) + [0, 0, 0]
        #expect(hello.encoded == wanted)
    }

    @Test func `what is written can be read`() throws {
        var writer = BusWriter()
        writer.structure {
            $0.string("é")
            $0.array(alignment: 8) { array in array.structure { $0.uint64(7) } }
        }
        var call = BusMessage.call("M", on: "i.i", of: "d.d", at: "/p", signature: "(sa(t))", body: writer.bytes)
        call.serial = 0x0102_0304
        #expect(try BusMessage(parsing: call.encoded) == call)
        #expect(try BusMessage.size(ofHeader: Array(call.encoded.prefix(16))) == call.encoded.count)
        var reader = BusReader(call.body)
        try reader.align(8)
        #expect(try reader.string() == "é")
        #expect(try reader.uint32() == 8)
    }

    @Test func `a big-endian error is read`() throws {
        let name = Array("a.E".utf8)
        let bytes: [UInt8] =
            [0x42, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 31]
            + [5, 1, 0x75, 0, 0, 0, 0, 2]
            + [4, 1, 0x73, 0, 0, 0, 0, 3] + name + [0, 0, 0, 0, 0]
            + [8, 1, 0x67, 0, 1, 0x73, 0, 0] + [0, 0, 0, 3] + Array("bad".utf8) + [0]
        let message = try BusMessage(parsing: bytes)
        #expect(message.kind == .error && message.replySerial == 2 && message.errorName == "a.E" && message.serial == 9)
        var reader = BusReader(message.body, isBigEndian: message.isBigEndian)
        #expect(try reader.string() == "bad" && reader.isAtEnd)
    }

    @Test func `nothing that is cut or changed is taken for more than it is`() throws {
        var call = BusMessage.call("M", on: "i.i", of: "d.d", at: "/p", signature: "s", body: [1, 0, 0, 0, 65, 0])
        call.serial = 1
        let good = call.encoded
        for length in 0..<good.count {
            #expect(throws: BusReader.Malformed.self) { try BusMessage(parsing: Array(good.prefix(length))) }
        }
        for index in good.indices {
            for value: UInt8 in [0, 1, 0x7F, 0xFF] {
                var bad = good
                bad[index] = value
                _ = try? BusMessage(parsing: bad)
                _ = try? BusMessage.size(ofHeader: bad)
            }
        }
        #expect(throws: BusReader.Malformed.self) {
            try BusMessage.size(ofHeader: [0x6C, 2, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0, 0, 0, 0])
        }
    }
}
