/// Reads values in D-Bus's wire format, of either byte order; nothing that it reads is trusted.
package struct BusReader: Sendable {
    package struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
        package var description: String { "it isn't in D-Bus's wire format" }
    }

    private let bytes: [UInt8]
    private let end: Int
    package private(set) var offset: Int
    private let isBigEndian: Bool

    package init(_ bytes: [UInt8], isBigEndian: Bool = false) {
        self.bytes = bytes
        self.isBigEndian = isBigEndian
        end = bytes.count
        offset = 0
    }

    package var isAtEnd: Bool { offset >= end }

    package mutating func align(_ alignment: Int) throws(Malformed) {
        let rest = offset % alignment
        if rest != 0 { try skip(alignment - rest) }
    }

    package mutating func byte() throws(Malformed) -> UInt8 {
        guard offset < end else { throw Malformed() }
        defer { offset += 1 }
        return bytes[offset]
    }

    package mutating func uint32() throws(Malformed) -> UInt32 {
        try align(4)
        guard end - offset >= 4 else { throw Malformed() }
        defer { offset += 4 }
        let four = bytes[offset..<offset + 4]
        return (isBigEndian ? Array(four) : four.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// - Throws: for anything but 0 and 1.
    package mutating func boolean() throws(Malformed) -> Bool {
        let value = try uint32()
        guard value <= 1 else { throw Malformed() }
        return value == 1
    }

    package mutating func string() throws(Malformed) -> String { try text(count: Int(uint32())) }

    package mutating func signature() throws(Malformed) -> String { try text(count: Int(byte())) }

    package mutating func skip(_ count: Int) throws(Malformed) {
        guard count >= 0, end - offset >= count else { throw Malformed() }
        offset += count
    }

    private mutating func text(count: Int) throws(Malformed) -> String {
        guard count >= 0, end - offset > count, bytes[offset + count] == 0 else { throw Malformed() }
        defer { offset += count + 1 }
        guard let text = String(validating: bytes[offset..<offset + count], as: UTF8.self) else { throw Malformed() }
        return text
    }
}
