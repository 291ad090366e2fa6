import ControlAPI

/// `help [COMMAND]`: from the argument table; with `--json`, the table itself.
struct HelpCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() throws -> ExitCode {
        guard let word = context.invocation.operands.first else {
            if context.console.json {
                try context.console.print(json: CommandDescription.table)
            } else {
                try context.console.print(HelpText.overview)
            }
            return .done
        }
        guard let command = Command(rawValue: word) else {
            throw UsageError(
                "There is no command \"\(word)\".",
                hint: NearestName.hint(for: word, among: Command.allCases.map(\.rawValue))
            )
        }
        let description = CommandDescription.of(command)
        if context.console.json {
            try context.console.print(json: description)
        } else {
            try context.console.print(HelpText.of(description))
        }
        return .done
    }
}
