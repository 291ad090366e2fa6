import ControlAPI
import ControlClient

/// `set NAME KEY=VALUE…`, `enable NAME` and `disable NAME`: changes keys of a stored configuration.
struct SetCommand {
    private let context: CommandContext
    private let settings: [Setting]

    init(_ context: CommandContext) throws(UsageError) {
        self.context = context
        switch context.invocation.command {
        case .enable: settings = [try Setting("enabled=true")]
        case .disable: settings = [try Setting("enabled=false")]
        default:
            var settings: [Setting] = []
            for word in context.invocation.operands.dropFirst() { settings.append(try Setting(word)) }
            self.settings = settings
        }
    }

    func run() async throws -> ExitCode {
        var steps: [SetDocument.Step] = []
        let change = try await context.change { document in
            steps = []
            for setting in settings {
                let old = setting.present(in: document)
                try setting.apply(to: &document)
                steps.append(SetDocument.Step(key: setting.key, from: old, to: setting.present(in: document)))
            }
        }
        let document = SetDocument(change, steps)
        if context.console.json {
            try context.console.print(json: document)
        } else {
            try context.console.print(try document.lines())
        }
        return .done
    }
}

/// What `set` prints.
private struct SetDocument: Encodable {
    struct Step: Encodable {
        let key: String
        let from: JSONValue?
        let to: JSONValue?
    }

    let identifier: String
    let name: String
    let generation: Int
    let changes: [Step]
    /// What tunneld noted on saving.
    let warnings: [String]

    init(_ change: CommandContext.Change, _ steps: [Step]) {
        identifier = change.saved.identifier
        name = change.after.name
        generation = change.saved.generation
        changes = steps.filter { $0.from != $0.to }.map { step in
            // Of a provider that isn't installed nobody knows which keys are references.
            let mayHoldKeys = step.key.hasPrefix("provider")
            return Step(
                key: step.key,
                from: step.from.map { change.before.shown($0, mayHoldKeys: mayHoldKeys) },
                to: step.to.map { change.after.shown($0, mayHoldKeys: mayHoldKeys) }
            )
        }
        warnings = change.saved.warnings
    }

    func lines() throws -> [StyledText] {
        var lines: [StyledText] = [
            changes.isEmpty
                ? "\(name, .bold) is so already (generation \(generation))."
                : "\(name, .bold) has generation \(generation) now."
        ]
        for step in changes {
            lines.append("  \(step.key): \(try Self.shown(step.from)) → \(try Self.shown(step.to))")
        }
        return lines + warnings.map { "  \("warning", .attention): \($0)" }
    }

    private static func shown(_ value: JSONValue?) throws -> String {
        guard let value, value != .null else { return "unset" }
        return try Console.jsonLine(value)
    }
}
