extension KeyedDecodingContainer {
    /// A whole number, or nil where there is none; of one that doesn't fit the error says where it stands and what fits,
    /// which the decoder itself doesn't.
    func wholeNumber<Number: FixedWidthInteger & Decodable>(_ type: Number.Type, forKey key: Key) throws -> Number? {
        // What fits is read at once: each miss in reading whatever it is costs an error.
        if let number = try? decodeIfPresent(type, forKey: key) { return number }
        guard let value = try decodeIfPresent(JSONValue.self, forKey: key) else { return nil }
        switch value {
        case .integer(let number):
            if let number = Number(exactly: number) { return number }
        case .double: break
        default:
            let context = DecodingError.Context(codingPath: codingPath + [key], debugDescription: "no number")
            throw DecodingError.typeMismatch(type, context)
        }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: codingPath + [key],
                debugDescription: "out of range",
                underlyingError: NumberOutOfRange(range: "\(Number.min) to \(Number.max)")
            )
        )
    }
}

/// A number that isn't one of those that fit.
struct NumberOutOfRange: Error, CustomStringConvertible {
    /// "0 to 255".
    let range: String

    var description: String { "expected is a whole number from \(range)" }
}
