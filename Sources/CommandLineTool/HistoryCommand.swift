import ControlAPI
import ControlClient
import Glibc

/// `history NAME`: the stored generations of a configuration.
struct HistoryCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let found = try await context.findHistory()
        let history = try await context.daemon.history(found.identifier)
        if context.console.json {
            try context.console.print(json: history)
            return .done
        }
        var table = TextTable(["GENERATION", "SAVED", "NAME", "CHANGED"])
        for generation in history.generations.reversed() {
            let mark = generation.isPresent ? " (present)" : ""
            let changes = generation.changes?.joined(separator: ", ") ?? ""
            table.append([
                StyledText("\(generation.generation)\(mark)", .bold), StyledText(QuantityText.time(generation.time)),
                StyledText(generation.name ?? ""),
                generation.fault.map { StyledText("can't be restored: \($0)", .bad) } ?? StyledText(changes),
            ])
        }
        try context.console.print(table.lines)
        if let lost = history.lost {
            let good = history.generations.last { $0.fault == nil }.map { "\($0.generation)" } ?? "GENERATION"
            let restore = TunnelctlCommand.text("restore", context.invocation.operand(0))
            try context.console.print(["", "\("Lost", .bad): \(lost)", "`\(restore) \(good)` brings it back."])
        }
        return .done
    }
}

/// `restore NAME GENERATION`: makes an earlier generation the present one.
struct RestoreCommand {
    private let context: CommandContext
    private let generation: Int

    init(_ context: CommandContext) throws(UsageError) {
        self.context = context
        guard let generation = Int(context.invocation.operand(1)), generation > 0 else {
            throw UsageError("GENERATION is a number above 0.", hint: "`tunnelctl history NAME` lists them.")
        }
        self.generation = generation
    }

    func run() async throws -> ExitCode {
        let found = try await context.findHistory()
        let present =
            found.lost == nil ? try await context.daemon.load(found.identifier).generation : Int?.none
        let saved = try await context.daemon.restore(found.identifier, generation: generation, loaded: present)
        if context.console.json {
            try context.console.print(json: saved)
        } else {
            let head: StyledText =
                saved.generation == present
                ? "\(found.name, .bold) is so already (generation \(saved.generation))."
                : "Generation \(generation) of \(found.name, .bold) is restored, as generation \(saved.generation)."
            try context.console.print([head] + saved.warnings.map { "  \("warning", .attention): \($0)" })
        }
        return .done
    }
}

extension CommandContext {
    /// The configuration that the first word means, also one that is lost: then with what is known of it.
    func findHistory(
        prefixes: Bool = true
    ) async throws -> (identifier: String, name: String, lost: ConfigurationsCalls.Lost?) {
        let present = try await daemon.list()
        let lost = try await daemon.lost()
        let own = getuid()
        let known = present.map { ($0.identifier, $0.name, $0.owner) } + lost.map { ($0.identifier, $0.name, $0.owner) }
        let candidates = known.map {
            NameMatch.Candidate(identifier: $0, name: $1, isOwn: $2.user == own, owner: $2.text)
        }
        let found = try NameMatch.find(invocation.operand(0), among: candidates, prefixes: prefixes)
        return (found.identifier, found.name, lost.first { $0.identifier == found.identifier })
    }
}
