import ControlAPI
import ControlClient

/// `status [NAME] [--check]`: what one tunnel does, or all of them.
struct StatusCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let views = context.invocation.operands.isEmpty ? try await context.daemon.status() : try await one()
        if context.invocation.operands.isEmpty {
            if context.console.json {
                try context.console.print(json: views)
            } else {
                let owners = try await context.ownersWhereAlike(views)
                try context.console.print(SessionTable.lines(views, owners: owners))
            }
        }
        let down = views.filter { $0.status != .connected }
        guard context.invocation.has(.check), !down.isEmpty else { return .done }
        context.console.note("\(down.map { "\($0.name) is \($0.status.rawValue)" }.joined(separator: ", ")).")
        return .notConnected
    }

    private func one() async throws -> [SessionView] {
        let view = try await context.findSession()
        if context.console.json {
            try context.console.print(json: view)
        } else {
            try context.console.print(SessionText.lines(view))
        }
        return [view]
    }
}
