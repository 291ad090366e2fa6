extension DecodingError {
    /// The path of the value that doesn't fit: "onDemand.rules[0]"; empty for the whole document.
    package var field: String {
        let context: Context? =
            switch self {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
                .dataCorrupted(let context):
                context
            @unknown default: nil
            }
        var keys = context?.codingPath ?? []
        if case .keyNotFound(let key, _) = self { keys.append(key) }
        return keys.reduce("") { path, key in
            if let index = key.intValue { return "\(path)[\(index)]" }
            return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
        }
    }

    /// What is wrong with it, without showing what it holds.
    package var fault: String {
        switch self {
        case .keyNotFound: "It is missing."
        case .valueNotFound: "It is null."
        case .typeMismatch(let type, _): "It has the wrong type; expected is \(Self.name(of: type))."
        case .dataCorrupted(let context):
            (context.underlyingError as? NumberOutOfRange).map { ControlError.sentence("\($0)") }
                ?? "It isn't what it should be."
        default: "It isn't what it should be."
        }
    }

    package var fieldAndFault: String { field.isEmpty ? "it is no such JSON document" : "\(field): \(fault)" }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is Bool.Type: "true or false"
        case is String.Type: "a text"
        case is any BinaryInteger.Type: "a whole number"
        case is [String: Any].Type: "an object"
        case is any Collection.Type: "an array"
        default: "an object"
        }
    }
}
