import ControlAPI
import FoundationEssentials

/// What a key of a configuration holds, and how a person types it.
indirect enum ValueShape: Sendable {
    case boolean
    case text
    /// Text, or nothing.
    case optionalText
    /// A number, or nothing.
    case optionalInteger
    /// A number, text, or nothing.
    case optionalNumberOrText
    /// Texts in their order.
    case texts
    case array(of: ValueShape)
    case object([String: ValueShape])
    /// Whatever a provider makes of it.
    case any
    /// tunneld's own: never set by a person.
    case given

    /// What a key of this shape takes, in words.
    var wanted: String {
        switch self {
        case .boolean: "true or false"
        case .text: "a text"
        case .optionalText: "a text, or nothing to unset it"
        case .optionalInteger: "a whole number, or nothing to unset it"
        case .optionalNumberOrText: "a number or a text, or nothing to unset it"
        case .texts: "texts with commas between them, or a JSON array of them"
        case .array: "a JSON array, such as [] or [{…}]"
        case .object: "a JSON object, or set one of its keys by a dot: KEY.\(memberNames.first ?? "key")=VALUE"
        case .any: "a JSON value or a text"
        case .given: "nothing: tunneld gives it"
        }
    }

    /// The value that a typed text stands for; nil unsets the key.
    ///
    /// - Throws: where the text isn't one of this shape.
    func value(of typed: String, for key: String) throws(UsageError) -> JSONValue? {
        let value: JSONValue?
        switch self {
        case .boolean: value = Self.booleans[typed.lowercased()].map { .bool($0) }
        case .text: value = .string(typed)
        case .optionalText: return typed.isEmpty ? nil : .string(typed)
        case .optionalInteger:
            if typed.isEmpty { return nil }
            value = Int64(typed).map { .integer($0) }
        case .optionalNumberOrText:
            if typed.isEmpty { return nil }
            value = Int64(typed).map { .integer($0) } ?? .string(typed)
        case .texts: value = texts(typed)
        case .array: value = Self.json(typed).flatMap { $0.array == nil ? nil : $0 }
        case .object: value = Self.json(typed).flatMap { $0.object == nil ? nil : $0 }
        case .any:
            if typed.isEmpty { return nil }
            value = Self.json(typed) ?? .string(typed)
        case .given: value = nil
        }
        // What was typed isn't repeated: it may be a secret in the wrong place.
        guard let value else { throw UsageError("\(key) can't hold that.", hint: "\(key) takes \(wanted).") }
        return value
    }

    /// The names below this one; empty where there are none, or nobody here knows them.
    var memberNames: [String] {
        if case .object(let members) = self { return members.keys.sorted() }
        return []
    }

    private static let booleans = [
        "true": true, "yes": true, "on": true, "1": true, "false": false, "no": false, "off": false, "0": false,
    ]

    private func texts(_ typed: String) -> JSONValue? {
        if typed.first == "[" {
            guard let array = Self.json(typed)?.array, array.allSatisfy({ $0.string != nil }) else { return nil }
            return .array(array)
        }
        let words = typed.split(separator: ",").map { $0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed() }
        return .array(words.filter { !$0.isEmpty }.map { .string(String($0)) })
    }

    private static func json(_ text: String) -> JSONValue? {
        try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }
}
