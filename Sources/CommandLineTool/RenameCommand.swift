import ControlAPI
import ControlClient

/// `rename NAME NEW`.
struct RenameCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let view = try await context.findSession()
        var configuration = try await context.daemon.load(view.identifier)
        configuration.name = context.invocation.operand(1)
        let saved = try await context.save(
            configuration,
            generation: configuration.generation,
            whereTaken: "Give another name."
        )
        if context.console.json {
            try context.console.print(
                json: RenameDocument(
                    identifier: saved.identifier,
                    name: configuration.name,
                    generation: saved.generation
                )
            )
        } else {
            try context.console.print("\(view.name) is called \(configuration.name, .bold) now.")
        }
        return .done
    }
}

private struct RenameDocument: Encodable {
    let identifier: String
    let name: String
    let generation: Int
}
