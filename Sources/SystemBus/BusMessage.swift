/// A D-Bus message: a call of ours, or what came back.
///
/// Source: D-Bus Specification, "Message Format".
package struct BusMessage: Equatable, Sendable {
    package enum Kind: UInt8, Sendable { case call = 1, reply = 2, error = 3, signal = 4 }

    package var kind: Kind
    package var serial: UInt32
    package var path: String?
    package var interface: String?
    package var member: String?
    package var destination: String?
    package var errorName: String?
    package var replySerial: UInt32?
    package var signature: String = ""
    package var body: [UInt8] = []
    package var isBigEndian = false

    /// Far above any answer that is asked for here.
    package static let sizeLimit = 1 << 20
    /// The part of a header that tells how long the message is.
    package static let fixedBytes = 16

    /// A call; its body has no padding of its own at the beginning.
    package static func call(
        _ member: String,
        on interface: String,
        of destination: String,
        at path: String,
        signature: String = "",
        body: [UInt8] = []
    ) -> BusMessage {
        var message = BusMessage(kind: .call, serial: 0)
        message.path = path
        message.interface = interface
        message.member = member
        message.destination = destination
        message.signature = signature
        message.body = body
        return message
    }

    package init(kind: Kind, serial: UInt32) {
        self.kind = kind
        self.serial = serial
    }

    /// The bytes of a call.
    package var encoded: [UInt8] {
        var writer = BusWriter()
        writer.byte(UInt8(ascii: "l"))
        writer.byte(kind.rawValue)
        writer.byte(0)
        writer.byte(1)
        writer.uint32(UInt32(truncatingIfNeeded: body.count))
        writer.uint32(serial)
        writer.array(alignment: 8) { fields in
            func text(_ code: UInt8, _ type: String, _ value: String?) {
                guard let value else { return }
                fields.structure {
                    $0.byte(code)
                    $0.signature(type)
                    if type == "g" { $0.signature(value) } else { $0.string(value) }
                }
            }
            text(1, "o", path)
            text(2, "s", interface)
            text(3, "s", member)
            text(6, "s", destination)
            text(8, "g", signature.isEmpty ? nil : signature)
        }
        writer.align(8)
        writer.append(body)
        return writer.bytes
    }

    /// How many bytes a message has whose first 16 are these.
    package static func size(ofHeader bytes: [UInt8]) throws(BusReader.Malformed) -> Int {
        guard bytes.count >= fixedBytes, bytes[0] == UInt8(ascii: "l") || bytes[0] == UInt8(ascii: "B") else {
            throw BusReader.Malformed()
        }
        var reader = BusReader(Array(bytes.prefix(fixedBytes)), isBigEndian: bytes[0] == UInt8(ascii: "B"))
        try reader.skip(4)
        let body = Int(try reader.uint32())
        _ = try reader.uint32()
        let fields = Int(try reader.uint32())
        guard fields <= sizeLimit, body <= sizeLimit else { throw BusReader.Malformed() }
        return (fixedBytes + fields + 7) / 8 * 8 + body
    }

    /// Reads a whole message.
    package init(parsing bytes: [UInt8]) throws(BusReader.Malformed) {
        guard try Self.size(ofHeader: bytes) == bytes.count, bytes[3] == 1, let kind = Kind(rawValue: bytes[1]) else {
            throw BusReader.Malformed()
        }
        let isBigEndian = bytes[0] == UInt8(ascii: "B")
        var reader = BusReader(bytes, isBigEndian: isBigEndian)
        try reader.skip(4)
        let bodyCount = Int(try reader.uint32())
        self.init(kind: kind, serial: try reader.uint32())
        self.isBigEndian = isBigEndian
        let end = Self.fixedBytes + Int(try reader.uint32())
        while reader.offset < end {
            try reader.align(8)
            let code = try reader.byte()
            let type = try reader.signature()
            switch type {
            case "s", "o":
                let text = try reader.string()
                switch code {
                case 1: path = text
                case 2: interface = text
                case 3: member = text
                case 4: errorName = text
                case 6: destination = text
                default: break
                }
            case "g":
                let text = try reader.signature()
                if code == 8 { signature = text }
            case "u":
                let number = try reader.uint32()
                if code == 5 { replySerial = number }
            default: throw BusReader.Malformed()
            }
        }
        body = Array(bytes.suffix(bodyCount))
    }
}
