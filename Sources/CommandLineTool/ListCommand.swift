import ControlAPI
import ControlClient

/// `list`: the stored configurations and whether they run.
struct ListCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let sessions = try await context.daemon.list()
        if context.console.json {
            try context.console.print(json: sessions.map(Row.init))
            return .done
        }
        guard !sessions.isEmpty else {
            try context.console.print("No configuration is stored. `tunnelctl import FILE` stores one.")
            return .done
        }
        let owners = CommandContext.ownersWhereAlike(sessions)
        var table = TextTable(["NAME"] + (owners.isEmpty ? [] : ["OWNER"]) + ["STATUS", "ENABLED", "IDENTIFIER"])
        for view in sessions {
            let owner = owners.isEmpty ? [] : [StyledText(owners[view.identifier] ?? "?")]
            let facts = [SessionText.status(view.status), view.enabled ? "yes" : "no"]
            table.append([StyledText(view.name, .bold)] + owner + facts + [StyledText(view.identifier, .dim)])
        }
        try context.console.print(table.lines)
        return .done
    }

    /// The keys of `list --json` (design, section 9).
    private struct Row: Encodable {
        let identifier: String
        let name: String
        let enabled: Bool
        let status: TunnelStatus

        init(_ view: SessionsCalls.Entry) {
            identifier = view.identifier
            name = view.name
            enabled = view.enabled
            status = view.status
        }
    }
}
