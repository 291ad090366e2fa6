/// One fault of a configuration's JSON: where, what is wrong, what should stand there.
package struct FieldError: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The path from the configuration's own root: "peers[1].allowedIPs[0]"; empty for the root.
    package let field: String
    /// What is wrong, as a clause that begins with a verb ("is a number"); never holds a secret.
    package let problem: String
    /// What should stand there: "an address with a prefix length, such as 10.0.0.0/24".
    package let expected: String
    /// What to do about it, as whole sentences.
    package let hint: String?

    package init(field: String, problem: String, expected: String, hint: String? = nil) {
        self.field = field
        self.problem = problem
        self.expected = expected
        self.hint = hint
    }

    /// The whole in a sentence: "peers[1].endpoint is a number; expected a host and a port, such as …".
    package var description: String { "\(field.isEmpty ? "The configuration" : field) \(message)" }

    /// The same without the field.
    package var message: String { "\(problem); expected \(expected)." + (hint.map { " " + $0 } ?? "") }
}

/// All faults of a configuration's JSON at once.
package struct FieldErrors: Error, Equatable, Sendable, CustomStringConvertible {
    /// At least one, at most `maximum`.
    package let errors: [FieldError]
    /// So many are listed; more help nobody.
    package static let maximum = 1000

    package var description: String { errors.map(\.description).joined(separator: "\n") }
}
