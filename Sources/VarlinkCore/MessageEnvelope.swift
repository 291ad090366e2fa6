import FoundationEssentials

/// The members of a message's outer object, each found at most once.
struct MessageEnvelope {
    private let bytes: [UInt8]
    private let scanner: JSONScanner
    private var ranges: [String: Range<Int>] = [:]

    /// - Parameter names: the members that mean something; others are skipped, as a later Varlink may add some.
    init(_ bytes: [UInt8], names: [StaticString]) throws(MessageError) {
        self.bytes = bytes
        var scanner = try JSONScanner(bytes)
        for member in try scanner.members() {
            guard let key = scanner.text(member.key), let name = names.first(where: { "\($0)" == key }) else {
                continue
            }
            guard ranges.updateValue(member.value, forKey: key) == nil else { throw .duplicate(member: name) }
        }
        self.scanner = scanner
    }

    /// A string; nil where it is absent or null.
    func string(_ name: StaticString) throws(MessageError) -> String? {
        guard let range = range(name) else { return nil }
        guard bytes[range.lowerBound] == UInt8(ascii: "\""), let text = scanner.text(range) else {
            throw .wrongType(member: name, expected: "a string")
        }
        return text
    }

    /// A boolean; false where it is absent or null.
    func flag(_ name: StaticString) throws(MessageError) -> Bool {
        guard let range = range(name) else { return false }
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw .wrongType(member: name, expected: "true or false")
        }
    }

    /// The text of an object; `{}` where it is absent or null.
    func object(_ name: StaticString) throws(MessageError) -> Data {
        guard let range = range(name) else { return VarlinkJSON.emptyObject }
        guard bytes[range.lowerBound] == UInt8(ascii: "{") else {
            throw .wrongType(member: name, expected: "an object")
        }
        return Data(bytes[range])
    }

    private func range(_ name: StaticString) -> Range<Int>? {
        guard let range = ranges["\(name)"], bytes[range.lowerBound] != UInt8(ascii: "n") else { return nil }
        return range
    }
}
