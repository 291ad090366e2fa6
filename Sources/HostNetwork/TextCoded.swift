/// Codes a value as its text, so that a document shows "10.0.0.0/8" and not the numbers behind it.
@propertyWrapper
package struct TextCoded<Value: LosslessStringConvertible & Hashable & Sendable>: Codable, Hashable, Sendable {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Value(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(Value.self) in \"\(text)\"")
        }
        wrappedValue = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue.description)
    }
}
