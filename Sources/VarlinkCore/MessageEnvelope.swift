import FoundationEssentials

/// The members of a message's outer object, each found at most once.
struct MessageEnvelope {
    private let bytes: [UInt8]
    private var ranges: [String: Range<Int>] = [:]

    /// - Parameter names: the members that mean something; others are skipped, as a later Varlink may add some.
    init(_ bytes: [UInt8], names: [StaticString]) throws(MessageError) {
        self.bytes = bytes
        var scanner = try JSONScanner(bytes)
        for member in try scanner.members() {
            let key = Self.text(bytes[member.key])
            guard let key, let name = names.first(where: { "\($0)" == key }) else { continue }
            guard ranges.updateValue(member.value, forKey: key) == nil else { throw .duplicate(member: name) }
        }
    }

    /// A string; nil where it is absent or null.
    func string(_ name: StaticString) throws(MessageError) -> String? {
        guard let slice = slice(name) else { return nil }
        guard slice.first == UInt8(ascii: "\""), let text = Self.text(slice) else {
            throw .wrongType(member: name, expected: "a string")
        }
        return text
    }

    /// A boolean; false where it is absent or null.
    func flag(_ name: StaticString) throws(MessageError) -> Bool {
        guard let slice = slice(name) else { return false }
        switch slice.first {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw .wrongType(member: name, expected: "true or false")
        }
    }

    /// The text of an object; `{}` where it is absent or null.
    func object(_ name: StaticString) throws(MessageError) -> Data {
        guard let slice = slice(name) else { return VarlinkJSON.emptyObject }
        guard slice.first == UInt8(ascii: "{") else { throw .wrongType(member: name, expected: "an object") }
        return Data(slice)
    }

    private func slice(_ name: StaticString) -> ArraySlice<UInt8>? {
        guard let range = ranges["\(name)"], bytes[range.lowerBound] != UInt8(ascii: "n") else { return nil }
        return bytes[range]
    }

    /// What a JSON string, with its quotes, says.
    ///
    /// Nil for half a surrogate pair, which is JSON and no text.
    private static func text(_ literal: ArraySlice<UInt8>) -> String? {
        guard literal.contains(UInt8(ascii: "\\")) else {
            return String(validating: literal.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(literal))
    }
}
