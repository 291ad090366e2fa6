import ControlAPI
import ControlClient

/// `stats NAME`: the counters of a tunnel, read now.
struct StatisticsCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let configuration = try await context.findConfiguration()
        let statistics = try await context.daemon.statistics(configuration.identifier)
        if context.console.json {
            try context.console.print(json: statistics)
            return .done
        }
        try context.console.print("\(configuration.name, .bold), read at \(QuantityText.time(statistics.readAt))")
        guard let counters = statistics.counters else {
            try context.console.print("  no counters: it has no interface now")
            return .done
        }
        for line in SessionText.counters(counters) { try context.console.print("  \(line)") }
        for peer in statistics.peers {
            let received = QuantityText.bytes(peer.receivedBytes)
            let sent = QuantityText.bytes(peer.sentBytes)
            try context.console.print("  peer \(peer.publicKey): received \(received), sent \(sent) outside the tunnel")
        }
        return .done
    }
}
