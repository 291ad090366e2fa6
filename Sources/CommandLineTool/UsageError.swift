/// The command line is wrong: exit code 2.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// "There is no command \"stauts\".".
    package let message: String
    /// "Did you mean status?".
    package let hint: String?

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }

    package var description: String { [message, hint].compactMap(\.self).joined(separator: " ") }
}
