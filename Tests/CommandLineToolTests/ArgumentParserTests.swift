import CommandLineTool
import Testing

@Suite struct ArgumentParserTests {
    private static let upUsage = "Usage: tunnelctl up NAME [--no-wait] [--timeout S]"

    @Test func `a command, its words and its options are taken in any order`() throws {
        let expected = try ArgumentParser.parse(["import", "home.conf", "--name", "home", "--strict"])
        #expect(expected.command == .importFile)
        #expect(expected.operands == ["home.conf"])
        #expect(expected.value(.name) == "home")
        #expect(expected.has(.strict))
        #expect(!expected.has(.replace))
        let other = try ArgumentParser.parse(["--name=home", "import", "--strict", "home.conf"])
        #expect(other.operands == expected.operands)
        #expect(other.value(.name) == "home")
        #expect(other.has(.strict))
    }

    @Test func `words behind two dashes and a single dash are no options`() throws {
        #expect(try ArgumentParser.parse(["up", "--", "--json"]).operands == ["--json"])
        #expect(try ArgumentParser.parse(["import", "-", "--name", "a"]).operands == ["-"])
    }

    @Test func `options that repeat keep their order`() throws {
        let invocation = try ArgumentParser.parse([
            "new", "site", "--peer", "A", "--endpoint", "a:1", "--peer", "B", "--endpoint", "b:2",
        ])
        #expect(invocation.options.map(\.option) == [.peer, .endpoint, .peer, .endpoint])
        #expect(invocation.values(.peer) == ["A", "B"])
    }

    @Test(
        arguments: [
            (["up", "--help"], ["up"]), (["-h"], []), (["--help"], []), (["--help", "status"], ["status"]),
            (["help", "down"], ["down"]),
        ]
    )
    func `help is a command and an option of every command`(_ arguments: [String], _ operands: [String]) throws {
        let invocation = try ArgumentParser.parse(arguments)
        #expect(invocation.command == .help)
        #expect(invocation.operands == operands)
    }

    @Test(
        arguments: [
            (["stauts"], "There is no command \"stauts\".", "Did you mean status?"),
            (["xyzzy"], "There is no command \"xyzzy\".", "`tunnelctl help` lists them."),
            ([], "No command was given.", "`tunnelctl help` lists them."),
            (["up", "home", "--no-wiat"], "There is no option \"--no-wiat\" of up.", "Did you mean --no-wait?"),
            (["--jsno", "list"], "There is no option \"--jsno\".", "Did you mean --json?"),
            (
                ["list", "--timeout", "3"], "There is no option \"--timeout\" of list.",
                "It is an option of up and message. Usage: tunnelctl list"
            ),
            (
                ["--timeout", "3", "list"], "There is no option \"--timeout\" of list.",
                "It is an option of up and message. Usage: tunnelctl list"
            ),
            (["list", "--xyzzy"], "There is no option \"--xyzzy\" of list.", "Usage: tunnelctl list"),
            (["--xyzzy", "list"], "There is no option \"--xyzzy\".", "`tunnelctl help` lists the commands."),
            (["--json"], "No command was given.", "`tunnelctl help` lists them."),
            (["up", "home", "--timeout"], "--timeout S: the value is missing.", upUsage),
            (["up", "home", "--no-wait=yes"], "--no-wait takes no value.", upUsage),
            (["up", "home", "--timeout", "1", "--timeout", "2"], "--timeout was given twice.", upUsage),
            (["up", "home", "office"], "\"office\" is one word too many.", upUsage),
            (["--socket"], "--socket PATH: the value is missing.", "`tunnelctl help` lists the commands."),
            (["up"], "NAME is missing.", upUsage),
            (["rename", "a"], "NEW is missing.", "Usage: tunnelctl rename NAME NEW"),
            (["list", "home"], "\"home\" is one word too many.", "Usage: tunnelctl list"),
        ] as [([String], String, String?)]
    )
    func `what is wrong is named, with the nearest match`(
        _ arguments: [String],
        _ message: String,
        _ hint: String?
    ) {
        #expect(throws: UsageError(message, hint: hint)) { try ArgumentParser.parse(arguments) }
    }

    @Test(arguments: Command.allCases)
    func `every command stands in the table under its own name and in the help`(_ command: Command) {
        let row = CommandDescription.of(command)
        #expect(row.name == command.rawValue)
        #expect(!row.summary.isEmpty)
        let help = HelpText.of(row).map { $0.rendered(colour: false) }.joined(separator: "\n")
        for option in row.options { #expect(help.contains(option.name)) }
        #expect(HelpText.overview.contains { $0.rendered(colour: false).hasPrefix("  \(command.rawValue) ") })
    }

    @Test func `options that aren't global belong to a command`() {
        for option in Option.allCases {
            let isGlobal = OptionDescription.global.contains { $0.name == option.rawValue }
            let isUsed = CommandDescription.table.contains { $0.options.contains { $0.name == option.rawValue } }
            #expect(isGlobal != isUsed, "\(option)")
        }
    }
}
