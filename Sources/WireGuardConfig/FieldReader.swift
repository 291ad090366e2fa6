import ControlAPI

/// Reads the members of JSON objects strictly and collects every fault with its path.
struct FieldReader {
    private(set) var errors: [FieldError] = []

    /// What a member should be, and how it is named in a message.
    struct Expectation {
        let text: String
        init(_ text: String) { self.text = text }
    }

    mutating func fail(_ path: String, _ problem: String, _ expected: Expectation, hint: String? = nil) {
        guard errors.count < FieldErrors.maximum else { return }
        errors.append(FieldError(field: path, problem: problem, expected: expected.text, hint: hint))
    }

    /// The members of an object, after refusing unknown ones; `null` counts as absent.
    mutating func object(_ value: JSONValue, at path: String, keys: [String]) -> [String: JSONValue]? {
        let list = "an object with the members \(keys.joined(separator: ", "))"
        guard let members = value.object else {
            fail(path, "is \(value.kind)", Expectation(list))
            return nil
        }
        for key in members.keys.sorted() where !keys.contains(key) {
            // What is near a known name is no secret.
            let near = NearestName.find(key, among: keys)
            let isShown = near != nil || ShownText.isHarmless(key.utf8)
            let shown = isShown ? key : "a member with a name of \(ShownText.count(key.utf8.count, "byte"))"
            fail(
                join(path, shown),
                "is unknown",
                Expectation("one of \(keys.joined(separator: ", "))"),
                hint: near.map { "Did you mean \($0)?" }
            )
        }
        return members.filter { $0.value != .null }
    }

    mutating func array(_ value: JSONValue?, at path: String, of items: String) -> [JSONValue] {
        guard let value else { return [] }
        if let array = value.array { return array }
        fail(path, "is \(value.kind)", Expectation("an array of \(items)"))
        return []
    }

    /// A required text.
    mutating func text<T>(
        _ value: JSONValue?,
        at path: String,
        _ expected: Expectation,
        _ parse: (ArraySlice<UInt8>) throws(ValueProblem) -> T
    ) -> T? {
        guard let value else {
            fail(path, "is missing", expected)
            return nil
        }
        guard let string = value.string else {
            fail(path, "is \(value.kind)", expected)
            return nil
        }
        do {
            return try parse(ArraySlice(string.utf8))
        } catch {
            fail(path, error.reason, expected, hint: error.hint)
            return nil
        }
    }

    mutating func texts<T>(
        _ value: JSONValue?,
        at path: String,
        items: String,
        _ expected: Expectation,
        _ parse: (ArraySlice<UInt8>) throws(ValueProblem) -> T
    ) -> [T] {
        array(value, at: path, of: items).enumerated().compactMap { index, item in
            text(item, at: "\(path)[\(index)]", expected, parse)
        }
    }

    /// A whole number that may be absent.
    mutating func integer(_ value: JSONValue?, at path: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let value else { return nil }
        let expected = Expectation("a whole number from \(range.lowerBound) to \(range.upperBound)")
        guard let number = value.integer else {
            fail(path, "is \(value.kind == "a number" ? "not a whole number" : value.kind)", expected)
            return nil
        }
        guard range.contains(number) else {
            fail(path, "is \(number)", expected)
            return nil
        }
        return number
    }

    mutating func boolean(_ value: JSONValue?, at path: String) -> Bool? {
        guard let value else { return nil }
        if let bool = value.bool { return bool }
        fail(path, "is \(value.kind)", Expectation("true or false"))
        return nil
    }

    func join(_ path: String, _ member: String) -> String { path.isEmpty ? member : "\(path).\(member)" }
}
