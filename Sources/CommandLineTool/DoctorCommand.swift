import ControlAPI
import ControlClient

/// `doctor`: what this machine lacks for tunnels, and how to mend it.
struct DoctorCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        var findings: [Finding] = []
        do throws(ControlError) {
            findings += try await context.daemon.doctor()
            findings.insert(Finding(check: "tunneld", level: .ok, message: "tunneld is running."), at: 0)
        } catch {
            findings.append(
                Finding(
                    check: "tunneld",
                    level: .problem,
                    message: [error.message, error.reason].compactMap { $0 }.joined(separator: " "),
                    remedy: error.remedy
                )
            )
        }
        if context.console.json {
            try context.console.print(json: DiagnosticsCalls.DoctorReply(findings: findings))
        } else {
            try context.console.print(findings.flatMap(Self.lines))
        }
        return findings.contains { $0.level == .problem } ? .failed : .done
    }

    private static func lines(_ finding: Finding) -> [StyledText] {
        let style: StyledText.Style =
            switch finding.level {
            case .ok: .good
            case .note: .plain
            case .warning: .attention
            case .problem: .bad
            }
        let mark = finding.level.rawValue.padded(to: 9)
        let line: StyledText = "\(mark, style)\(finding.check.padded(to: 16), .bold)\(finding.message)"
        return [line] + (finding.remedy.map { ["\("".padded(to: 25))do: \($0)"] } ?? [])
    }
}
