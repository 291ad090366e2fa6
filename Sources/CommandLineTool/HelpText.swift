/// Help from the argument table.
package enum HelpText {
    /// All commands, a line each.
    package static var overview: [StyledText] {
        let width = (CommandDescription.table.map(\.name.count).max() ?? 0) + 2
        var lines: [StyledText] = [
            "\("tunnelctl", .bold): tunnels that tell the truth, on Linux", "",
            "Usage: tunnelctl COMMAND [WORDS] [OPTIONS]", "",
        ]
        lines += CommandDescription.table.map { "  \($0.name.padded(to: width), .bold)\($0.summary)" }
        lines += ["", "Of every command:"] + options(OptionDescription.global)
        lines += [
            "", "NAME is a name, an identifier, or the beginning of only one.", "",
            "Exit codes: 0 done; 1 failed; 2 wrong usage; 3 not connected; 4 no such configuration;",
            "  5 no permission; 6 tunneld isn't running.",
            "`tunnelctl help COMMAND` tells more.",
        ]
        return lines
    }

    package static func of(_ command: CommandDescription) -> [StyledText] {
        var lines: [StyledText] = ["Usage: \("tunnelctl \(command.usage)", .bold)", "", StyledText(command.summary)]
        if !command.options.isEmpty { lines += ["", "Options:"] + options(command.options) }
        lines += ["", "Of every command:"] + options(OptionDescription.global)
        for paragraph in command.details { lines += [""] + wrapped(paragraph) }
        return lines
    }

    private static func options(_ options: [OptionDescription]) -> [StyledText] {
        let width = (options.map(\.heading.count).max() ?? 0) + 2
        return options.map { "  \($0.heading.padded(to: width), .bold)\($0.summary)" }
    }

    /// Lines of at most 79 columns, broken at blanks.
    private static func wrapped(_ paragraph: String) -> [StyledText] {
        var lines: [String] = []
        for word in paragraph.split(separator: " ") {
            if let last = lines.last, last.count + word.count < 79 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.map { StyledText($0) }
    }
}
