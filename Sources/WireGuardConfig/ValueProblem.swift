/// Why one value can't be used, in words that may be shown to anybody: it never holds a secret.
package struct ValueProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, as a clause without a full stop: "has 43 characters".
    package let reason: String
    /// What to do about it, as whole sentences; nil where the reason says it all.
    package let hint: String?

    package init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }

    package var description: String { [reason, hint].compactMap(\.self).joined(separator: ". ") }
}
