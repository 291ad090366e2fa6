/// A command of an imported file: kept for display and export, never run.
package struct Hook: Hashable, Sendable {
    package enum Event: String, CaseIterable, Sendable {
        case preUp = "PreUp"
        case postUp = "PostUp"
        case preDown = "PreDown"
        case postDown = "PostDown"
    }

    package let event: Event
    /// One line, without blanks at its ends; never empty.
    package let command: String

    /// So that `PostDown = ` and the command stay within the limit of a line.
    static let longestCommand = 65_500

    /// - Returns: nil for a command that could not stand in a file: see `problem(of:)`.
    package init?(_ event: Event, _ command: String) {
        guard Hook.problem(of: ArraySlice(command.utf8)) == nil else { return nil }
        self.event = event
        self.command = command
    }

    init(_ event: Event, text: ArraySlice<UInt8>) throws(ValueProblem) {
        if let problem = Hook.problem(of: text) { throw problem }
        self.event = event
        command = text.text
    }

    private static func problem(of text: ArraySlice<UInt8>) -> ValueProblem? {
        if text.isEmpty { return ValueProblem("is empty") }
        if text.trimmed.count != text.count { return ValueProblem("begins or ends with a blank") }
        if text.count > longestCommand { return ValueProblem("is longer than \(longestCommand) bytes") }
        if text.contains(where: { $0.isBlank && $0 != 0x20 && $0 != 0x09 }) {
            return ValueProblem("has a vertical tab or a form feed", hint: "Remove it.")
        }
        return TextCheck.problem(of: text, in: "command")
    }
}
