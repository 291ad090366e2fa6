import ControlAPI
import WireGuardConfig

/// What `import` did with one file: its JSON document, and its text.
struct ImportDocument: Encodable {
    struct HookDocument: Encodable {
        let event: String
        let command: String
    }

    let file: String
    let name: String
    let identifier: String
    let generation: Int
    /// Whether a stored configuration was replaced.
    let replaced: Bool
    /// Kept for show and export, never run.
    let hooks: [HookDocument]
    let report: ImportReport
    /// What tunneld noted on saving.
    let warnings: [String]

    init(
        file: String,
        name: String,
        saved: ConfigurationsCalls.SaveReply,
        replaced: Bool,
        configuration: WireGuardConfiguration,
        report: ImportReport
    ) {
        self.file = file
        self.name = name
        identifier = saved.identifier
        generation = saved.generation
        self.replaced = replaced
        hooks = configuration.hooks.map {
            HookDocument(event: $0.event.rawValue, command: $0.shownCommand(in: configuration))
        }
        self.report = report
        warnings = saved.warnings
    }

    var lines: [StyledText] {
        var lines: [StyledText] = [
            "\(file): \(replaced ? "replaces" : "imported as") \(name, .bold) (\(identifier), generation \(generation))"
        ]
        var table = TextTable([])
        for entry in report.entries {
            table.append([
                StyledText(entry.line > 0 ? "  line \(entry.line)" : "  file", .dim), StyledText(entry.key ?? ""),
                StyledText(entry.kind.rawValue, Self.style(entry.kind)), StyledText(entry.text),
            ])
        }
        lines += table.lines.dropFirst()
        if report.omittedEntries > 0 { lines.append("  and \(report.omittedEntries) more lines") }
        lines += hooks.map { "  never run: \($0.event) = \($0.command)" }
        lines += warnings.map { "  \("warning", .attention): \($0)" }
        lines.append(
            "  \(report.secretsSummary ?? "no secrets in the file"); \(report.peers) \(report.peers == 1 ? "peer" : "peers")"
        )
        return lines
    }

    private static func style(_ kind: ImportReport.Kind) -> StyledText.Style {
        switch kind {
        case .kept: .good
        case .changed, .warning: .attention
        case .ignored: .dim
        }
    }
}
