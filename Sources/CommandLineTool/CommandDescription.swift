/// One row of the argument table: what a command takes and means.
///
/// The one table drives parsing, the overview, the help of each command, and its JSON form for other programs.
package struct CommandDescription: Encodable, Sendable {
    package let name: String
    /// One line for the overview.
    package let summary: String
    package let operands: [OperandDescription]
    package let options: [OptionDescription]
    /// Paragraphs for `help COMMAND`.
    package let details: [String]

    init(
        _ command: Command,
        _ summary: String,
        operands: [OperandDescription] = [],
        options: [OptionDescription] = [],
        details: [String] = []
    ) {
        name = command.rawValue
        self.summary = summary
        self.operands = operands
        self.options = options
        self.details = details
    }

    /// How the command is typed: "up NAME [--no-wait] [--timeout S]".
    package var usage: String {
        ([name] + operands.map(\.usage) + options.map(\.usage)).joined(separator: " ")
    }

    var operandCount: ClosedRange<Int> {
        let least = operands.count { !$0.optional }
        return least...(operands.last?.repeats == true ? Int.max : operands.count)
    }

    func option(_ option: Option) -> OptionDescription? {
        (options + OptionDescription.global).first { $0.name == option.rawValue }
    }
}

/// A word of a command that isn't an option.
package struct OperandDescription: Encodable, Sendable {
    package enum Kind: String, Encodable, Sendable {
        /// The name, the identifier or a prefix of one of a stored configuration.
        case configuration
        /// A path to a file or folder.
        case file
        case command
        case text
    }

    package let name: String
    package let kind: Kind
    package let optional: Bool
    /// Whether more of it may follow; of the last one only.
    package let repeats: Bool

    init(_ name: String, _ kind: Kind, optional: Bool = false, repeats: Bool = false) {
        self.name = name
        self.kind = kind
        self.optional = optional
        self.repeats = repeats
    }

    var usage: String { (optional ? "[\(name)]" : name) + (repeats ? "…" : "") }
}

package struct OptionDescription: Encodable, Sendable {
    package let name: String
    /// What stands for its value in a help text; null for an option without one.
    package let value: String?
    package let summary: String
    /// Whether it may be given more than once.
    package let repeats: Bool

    init(_ option: Option, value: String? = nil, repeats: Bool = false, _ summary: String) {
        name = option.rawValue
        self.value = value
        self.summary = summary
        self.repeats = repeats
    }

    var usage: String { "[\(heading)]" + (repeats ? "…" : "") }

    /// "--name NAME".
    var heading: String { value.map { "\(name) \($0)" } ?? name }

    /// Those of every command.
    package static let global = [
        OptionDescription(.json, "Print JSON with stable keys: one document, or one a line where it streams."),
        OptionDescription(
            .socket,
            value: "PATH",
            "The control socket of tunneld; else $TUNNELD_SOCKET, $RUNTIME_DIRECTORY/control, /run/tunneld/control."
        ),
        OptionDescription(.help, "Show what the command does and takes."),
    ]
}
