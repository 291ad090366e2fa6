/// Writes values in D-Bus's wire format, little endian.
///
/// Source: D-Bus Specification, "Marshaling (Wire Format)".
package struct BusWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Zeros up to a multiple of a type's alignment, from the beginning of the message or body.
    package mutating func align(_ alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    package mutating func uint32(_ value: UInt32) { integer(value, alignment: 4) }

    package mutating func int32(_ value: Int32) { integer(UInt32(bitPattern: value), alignment: 4) }

    package mutating func uint64(_ value: UInt64) { integer(value, alignment: 8) }

    package mutating func string(_ value: String) {
        uint32(UInt32(truncatingIfNeeded: value.utf8.count))
        bytes += value.utf8
        bytes.append(0)
    }

    package mutating func signature(_ value: String) {
        bytes.append(UInt8(truncatingIfNeeded: value.utf8.count))
        bytes += value.utf8
        bytes.append(0)
    }

    /// An array, whose length counts from behind the padding of its first element.
    package mutating func array(alignment: Int, _ body: (inout BusWriter) -> Void) {
        uint32(0)
        let place = bytes.count - 4
        align(alignment)
        let start = bytes.count
        body(&self)
        let length = UInt32(truncatingIfNeeded: bytes.count - start)
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index))) }
    }

    /// A structure or a dictionary's entry.
    package mutating func structure(_ body: (inout BusWriter) -> Void) {
        align(8)
        body(&self)
    }

    package mutating func append(_ more: [UInt8]) { bytes += more }

    private mutating func integer(_ value: some FixedWidthInteger, alignment: Int) {
        align(alignment)
        for index in 0..<(value.bitWidth / 8) { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
}
