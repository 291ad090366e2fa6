import ControlAPI

/// Reads a command line by the argument table.
package enum ArgumentParser {
    /// - Parameter arguments: without the program's name.
    /// - Throws: the first thing that is wrong, with the nearest match where something is misspelt.
    package static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
        var words: [String] = []
        do throws(UsageError) {
            return try parse(arguments, &words)
        } catch {
            throw error.completed(by: words.first.flatMap(Command.init(rawValue:)).map(CommandDescription.of))
        }
    }

    private static func parse(_ arguments: [String], _ words: inout [String]) throws(UsageError) -> Invocation {
        var given: [Invocation.GivenOption] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                break
            }
            guard argument.hasPrefix("-"), argument != "-" else {
                words.append(argument)
                continue
            }
            given.append(try option(argument, &rest, of: words.first))
        }
        if given.contains(where: { $0.option == .help }) {
            // Of a word that is no command, `help` itself says what is wrong.
            let asked = words.first.map { [$0] } ?? []
            return Invocation(command: .help, operands: asked, options: given.filter { $0.option == .json })
        }
        let command = try self.command(words.first)
        let invocation = Invocation(command: command, operands: Array(words.dropFirst()), options: given)
        try check(invocation)
        return invocation
    }

    /// One option and its value; `--name=NAME` and `--name NAME` mean the same.
    private static func option(
        _ argument: String,
        _ rest: inout ArraySlice<String>,
        of command: String?
    ) throws(UsageError) -> Invocation.GivenOption {
        let equals = argument.firstIndex(of: "=")
        let typed = argument == "-h" ? Option.help.rawValue : String(argument[..<(equals ?? argument.endIndex)])
        let row = command.flatMap(Command.init(rawValue:)).map(CommandDescription.of)
        guard let option = Option(rawValue: typed), let description = description(of: option, row) else {
            throw unknown(typed, row)
        }
        guard description.value != nil else {
            if equals != nil { throw UsageError("\(typed) takes no value.") }
            return Invocation.GivenOption(option: option, value: nil)
        }
        if let equals {
            return Invocation.GivenOption(option: option, value: String(argument[argument.index(after: equals)...]))
        }
        guard let value = rest.popFirst() else { throw UsageError("\(description.heading): the value is missing.") }
        return Invocation.GivenOption(option: option, value: value)
    }

    /// The nearest option of the command; else whose option it is.
    private static func unknown(_ typed: String, _ row: CommandDescription?) -> UsageError {
        let message = "There is no option \"\(typed)\"\(row.map { " of \($0.name)" } ?? "")."
        let known = (row?.options ?? []) + OptionDescription.global
        if let hint = NearestName.hint(for: typed, among: known.map(\.name)) { return UsageError(message, hint: hint) }
        let others = CommandDescription.table.filter { other in other.options.contains { $0.name == typed } }
        guard let row, !others.isEmpty else { return UsageError(message) }
        let names = others.map(\.name).joined(separator: " and ")
        return UsageError(message, hint: "It is an option of \(names). Usage: tunnelctl \(row.usage)")
    }

    /// Before the command is known, an option of any command may stand; `check` sees later whether it is its own.
    private static func description(of option: Option, _ row: CommandDescription?) -> OptionDescription? {
        if let row { return row.option(option) }
        return OptionDescription.global.first { $0.name == option.rawValue }
            ?? CommandDescription.table.lazy.compactMap { $0.option(option) }.first
    }

    private static func command(_ word: String?) throws(UsageError) -> Command {
        guard let word else { throw UsageError("No command was given.", hint: "`tunnelctl help` lists them.") }
        guard let command = Command(rawValue: word) else {
            throw UsageError(
                "There is no command \"\(word)\".",
                hint: NearestName.hint(for: word, among: Command.allCases.map(\.rawValue))
                    ?? "`tunnelctl help` lists them."
            )
        }
        return command
    }

    private static func check(_ invocation: Invocation) throws(UsageError) {
        let row = CommandDescription.of(invocation.command)
        var seen: Set<Option> = []
        for given in invocation.options {
            guard let description = row.option(given.option) else {
                throw unknown(given.option.rawValue, row)
            }
            if !seen.insert(given.option).inserted, !description.repeats {
                throw UsageError("\(given.option.rawValue) was given twice.")
            }
        }
        let count = invocation.operands.count
        if let empty = invocation.operands.firstIndex(of: ""), count <= row.operandCount.upperBound {
            let name = row.operands[min(empty, row.operands.count - 1)].name
            throw UsageError("\(name) is empty.", hint: "Usage: tunnelctl \(row.usage)")
        }
        if count < row.operandCount.lowerBound {
            throw UsageError("\(row.operands[count].name) is missing.", hint: "Usage: tunnelctl \(row.usage)")
        }
        if count > row.operandCount.upperBound {
            let extra = invocation.operands[row.operandCount.upperBound]
            throw UsageError("\"\(extra)\" is one word too many.", hint: "Usage: tunnelctl \(row.usage)")
        }
    }
}
