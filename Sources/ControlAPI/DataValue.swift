package import FoundationEssentials

/// Bytes in a JSON document: `{"$data": base64}` (design, section 10).
package struct DataValue: Equatable, Sendable {
    package var bytes: Data

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Data(bytes) }
}

extension DataValue: Codable {
    private enum CodingKeys: String, CodingKey { case data = "$data" }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .data)
        guard let bytes = Data(base64Encoded: text) else {
            throw DecodingError.dataCorruptedError(forKey: .data, in: container, debugDescription: "It isn't base64.")
        }
        self.bytes = bytes
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bytes.base64EncodedString(), forKey: .data)
    }
}
