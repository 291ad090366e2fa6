import ControlAPI
import ControlClient

/// `remove NAME [--force]`: removes a configuration and its secrets.
struct RemoveCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let found = try await context.findHistory(prefixes: false)
        if let lost = found.lost { return try await remove(lost) }
        let configuration = try await context.daemon.load(found.identifier)
        guard let view = try await context.daemon.status(configuration.identifier).first else {
            throw ControlError(.configurationUnknown, "There is no configuration \"\(configuration.name)\" any more.")
        }
        if view.isRunning {
            guard context.invocation.has(.force) else {
                throw ControlError(
                    .invalidParameter,
                    "\(view.name) is \(view.status.rawValue), and isn't removed while it runs.",
                    remedy: "`\(TunnelctlCommand.text("down", view.name))` first, or add --force."
                )
            }
            try await DownCommand(context).stopBeforeRemoval(view)
        }
        try await context.daemon.remove(view.identifier, generation: configuration.generation)
        return try report(view.identifier, view.name, "is removed, with its secrets.")
    }

    /// What was kept of a configuration whose file is gone or can't be used.
    private func remove(_ lost: ConfigurationsCalls.Lost) async throws -> ExitCode {
        try await context.daemon.remove(lost.identifier, generation: lost.generation)
        return try report(lost.identifier, lost.name, "was lost; what was kept of it is removed, with its secrets.")
    }

    private func report(_ identifier: String, _ name: String, _ text: String) throws -> ExitCode {
        if context.console.json {
            try context.console.print(json: RemoveDocument(identifier: identifier, name: name))
        } else {
            try context.console.print("\(name, .bold) \(text)")
        }
        return .done
    }
}

private struct RemoveDocument: Encodable {
    let identifier: String
    let name: String
}
