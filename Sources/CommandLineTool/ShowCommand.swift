import ControlAPI
import ControlClient
import WireGuardConfig

/// `show NAME`: the stored configuration, without secrets.
struct ShowCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let configuration = try await context.findConfiguration()
        if context.console.json {
            try context.console.print(json: configuration.withoutKeysInHooks)
        } else {
            try context.console.print(lines(configuration))
        }
        return .done
    }

    private func lines(_ configuration: Configuration) throws -> [StyledText] {
        var facts = [
            ("name", configuration.name), ("identifier", configuration.identifier),
            ("generation", "\(configuration.generation)"), ("owner", owner(configuration.owner)),
            ("enabled", configuration.enabled ? "yes" : "no"),
            ("provider", configuration.provider?.identifier ?? configuration.type.rawValue),
        ]
        if configuration.startAtBoot { facts.append(("at boot", "starts")) }
        var lines: [StyledText] = facts.map { "\($0.0.padded(to: 12), .dim)\($0.1)" }
        if let wireGuard = configuration.wireGuard {
            let text = ConfigurationWriter.text(of: wireGuard)
            lines +=
                [""]
                + text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
                    StyledText(String($0))
                }
            if !wireGuard.hooks.isEmpty { lines += ["", "The hooks above are kept for show and export, never run."] }
        } else if let provider = configuration.provider {
            lines += [""] + (try Console.jsonLines(provider.configuration)).map { StyledText($0) }
        }
        return lines
    }

    private func owner(_ owner: Configuration.Owner) -> String {
        let user = owner.user == 0 ? "the system" : "user \(owner.user)"
        let application = owner.application.map { ", application \($0)" } ?? ""
        return user + application + (owner.profile.map { ", profile \($0)" } ?? "")
    }
}
