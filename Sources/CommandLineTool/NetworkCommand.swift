import ControlAPI
import ControlClient

/// `network`: what is around the tunnels, and with `--watch` how it changes.
struct NetworkCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        guard context.invocation.has(.watch) else {
            let network = try await context.daemon.network()
            if context.console.json {
                try context.console.print(json: network)
            } else {
                try context.console.print(NetworkText.lines(network))
            }
            return .done
        }
        return try await watch()
    }

    private enum Input: Sendable {
        case news(NetworkCalls.WatchReply)
        case ended(ControlError)
        case interrupted
    }

    private func watch() async throws -> ExitCode {
        let news = try await context.daemon.watchNetwork()
        let (inputs, continuation) = AsyncStream<Input>.makeStream()
        let interruptions = context.interruptions()
        let tasks = [
            Task {
                do {
                    for try await reply in news { continuation.yield(.news(reply)) }
                    continuation.yield(.ended(ControlError(.unavailable, "tunneld ended the stream of changes.")))
                } catch {
                    let error = error as? ControlError
                    continuation.yield(.ended(error ?? ControlError(.unavailable, "The stream of changes broke.")))
                }
            },
            Task { for await _ in interruptions { continuation.yield(.interrupted) } },
        ]
        defer { for task in tasks { task.cancel() } }
        for await input in inputs {
            switch input {
            case .news(let reply): try print(reply)
            case .ended(let error): throw error
            case .interrupted: return .done
            }
        }
        return .done
    }

    private func print(_ reply: NetworkCalls.WatchReply) throws {
        if context.console.json { return try context.console.print(json: reply, streaming: true) }
        guard !reply.changes.isEmpty else { return try context.console.print(NetworkText.lines(reply.network)) }
        let time = QuantityText.time(reply.network.readAt)
        for change in reply.changes {
            try context.console.print("\(time, .dim)  \(NetworkText.change(change))")
        }
    }
}
