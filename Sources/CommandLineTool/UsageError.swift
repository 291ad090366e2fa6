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

    /// With the usage of the command, or where to find the commands, where there is no better hint.
    package func completed(by command: CommandDescription?) -> UsageError {
        if hint != nil { return self }
        let usage = command.map { "Usage: tunnelctl \($0.usage)" } ?? "`tunnelctl help` lists the commands."
        return UsageError(message, hint: usage)
    }

    package var description: String { [message, hint].compactMap(\.self).joined(separator: " ") }
}
