import ControlAPI
import ControlClient

/// `remove NAME [--force]`: removes a configuration and its secrets.
struct RemoveCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let configuration = try await context.findConfiguration(prefixes: false)
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
        if context.console.json {
            try context.console.print(json: RemoveDocument(identifier: view.identifier, name: view.name))
        } else {
            try context.console.print("\(view.name, .bold) is removed, with its secrets.")
        }
        return .done
    }
}

private struct RemoveDocument: Encodable {
    let identifier: String
    let name: String
}
