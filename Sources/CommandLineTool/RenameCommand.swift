import ControlAPI
import ControlClient

/// `rename NAME NEW`.
struct RenameCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        var configuration = try await context.findConfiguration()
        let oldName = configuration.name
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
            try context.console.print("\(oldName) is called \(configuration.name, .bold) now.")
        }
        return .done
    }
}

private struct RenameDocument: Encodable {
    let identifier: String
    let name: String
    let generation: Int
}
