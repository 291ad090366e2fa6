package import FoundationEssentials

/// How values become the JSON of parameters, and back.
package enum VarlinkJSON {
    package static let emptyObject = Data("{}".utf8)

    /// Encodes a value whose JSON is an object, keys in order, so that equal values give equal bytes.
    ///
    /// - Throws: `EncodingError`, for a number that JSON doesn't have, or for a value that isn't an object.
    package static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        let data = try encoder.encode(value)
        guard data.first == UInt8(ascii: "{") else {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "Not a JSON object."))
        }
        return data
    }

    /// - Throws: `DecodingError`, or what the type's own initialiser throws.
    package static func decode<T: Decodable>(_ type: T.Type, from object: Data) throws -> T {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: object)
    }

    /// The text of a JSON string, with its quotes.
    static func quoted(_ text: String) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case ..<0x20: out += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
        return out
    }
}

/// No parameters.
package struct NoParameters: Codable, Equatable, Sendable {
    package init() {}
}
