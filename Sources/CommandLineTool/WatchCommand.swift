import ControlAPI

/// `watch [NAME]`: a line for each event, the present state first, until interrupted.
struct WatchCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let identifier = context.invocation.operands.isEmpty ? nil : try await context.findConfiguration().identifier
        let inputs = try await WaitInputs(context, identifier: identifier)
        var isLost = false
        for await input in inputs.stream {
            switch input {
            case .event(let event):
                if isLost { context.console.note("Connected to tunneld again; the present state follows.") }
                isLost = false
                if context.console.json {
                    try context.console.print(json: event, streaming: true)
                } else if let line = Self.line(event) {
                    try context.console.print(line)
                }
            case .lost:
                isLost = true
                context.console.note("The connection to tunneld was lost; running tunnels go on. Waiting for tunneld.")
            case .alarm: break
            case .interrupted: return .done
            }
        }
        return .done
    }

    /// What happened, for a person; nil for what only programs need.
    static func line(_ event: SessionsCalls.Event) -> StyledText? {
        guard event.kind != .ready else { return nil }
        let time = StyledText(QuantityText.time(event.time), .dim)
        if event.kind == .resynchronise {
            let lost = event.lost ?? 0
            return "\(time)  \(lost == 1 ? "1 event was" : "\(lost) events were") missed; the present state follows"
        }
        let name = StyledText(event.name ?? event.identifier ?? "?", .bold)
        if event.kind == .configuration {
            let removed = event.status == .invalid
            return "\(time)  \(name): configuration \(removed ? "removed" : "changed")"
        }
        var line: StyledText = "\(time)  \(name): \(event.status.map(SessionText.status) ?? "unknown")"
        if event.status == .connecting, let stage = event.snapshot?.stage {
            line = line + ", \(StageText.of(stage))"
        }
        if let error = event.error {
            line = line + ": \(error.message)"
            if let reason = error.reason { line = line + " \(reason)" }
        } else if let reason = event.reason ?? event.snapshot?.failure?.message ?? event.snapshot?.reason {
            line = line + ": \(reason)"
        }
        return line
    }
}
