import ControlAPI
import ControlClient

/// `version`: those of tunnelctl and of the tunneld that runs.
struct VersionCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let daemon = try await running()
        if context.console.json {
            try context.console.print(json: Document(tunnelctl: ProductVersion.version, tunneld: daemon?.version))
            return .done
        }
        try context.console.print("tunnelctl \(ProductVersion.version)")
        try context.console.print("tunneld \(daemon?.version ?? "isn't running")")
        if let daemon, daemon.version != ProductVersion.version {
            context.console.note("The versions differ; restart tunneld after an upgrade: running tunnels go on.")
        }
        return .done
    }

    /// What the running tunneld says of itself; nil where none runs.
    private func running() async throws -> DaemonClient.Information? {
        do {
            return try await context.daemon.information()
        } catch {
            if error.name == .notRunning { return nil }
            throw error
        }
    }

    private struct Document: Encodable {
        let tunnelctl: String
        let tunneld: String?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(tunnelctl, forKey: .tunnelctl)
            try container.encode(tunneld, forKey: .tunneld)
        }

        private enum CodingKeys: String, CodingKey { case tunnelctl, tunneld }
    }
}
