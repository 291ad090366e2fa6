import CShims

/// Without `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` (linux/netlink.h, `NLA_TYPE_MASK`).
private let typeMask: UInt16 = 0x3fff

/// The attributes of a message, checked once when they are read.
package struct NetlinkAttributes: Sendable {
    private var values: [(type: UInt16, value: ArraySlice<UInt8>)] = []

    /// Reads a run of attributes.
    ///
    /// - Throws: `malformed` for a length below 4 or beyond what is left: going on would loop or read elsewhere.
    package init(_ bytes: ArraySlice<UInt8>) throws(NetlinkError) {
        var rest = bytes
        // Up to 3 bytes of padding may stand at the end.
        while rest.count >= 4 {
            let header = try rest.load(nlattr.self, "attribute header")
            let length = Int(header.nla_len)
            guard length >= 4, length <= rest.count else {
                throw .malformed("attribute length \(length) with \(rest.count) bytes left")
            }
            let type = header.nla_type & typeMask
            values.append((type, rest.dropFirst(4).prefix(length - 4)))
            rest = rest.dropFirst(aligned(length))
        }
    }

    /// The bytes of the first attribute of that type, nil if there is none.
    package subscript(type: some BinaryInteger) -> ArraySlice<UInt8>? {
        values.first { $0.type == type }?.value
    }

    /// All attributes in their order.
    package var all: [(type: UInt16, value: ArraySlice<UInt8>)] { values }

    /// A number in the machine's own byte order; nil if absent or too short.
    package func number<Value: FixedWidthInteger & BitwiseCopyable>(
        _ type: some BinaryInteger,
        as: Value.Type = Value.self
    ) -> Value? {
        try? self[type]?.load(Value.self, "number")
    }

    /// Text up to its terminating zero, if it has one.
    package func string(_ type: some BinaryInteger) -> String? {
        self[type].map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// A struct in front of the attribute's bytes; a newer kernel may have appended fields.
    package func value<Value: BitwiseCopyable>(_ type: some BinaryInteger, as: Value.Type) -> Value? {
        try? self[type]?.load(Value.self, "struct")
    }

    /// The attributes inside an attribute; nil if absent.
    package func nested(_ type: some BinaryInteger) throws(NetlinkError) -> NetlinkAttributes? {
        guard let bytes = self[type] else { return nil }
        return try NetlinkAttributes(bytes)
    }
}
