import ControlAPI
import ControlClient

/// `doctor`: what this machine lacks for tunnels, and how to mend it.
struct DoctorCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        var findings: [Finding] = []
        var isRunning = false
        do throws(ControlError) {
            findings = try await context.daemon.doctor()
            findings.insert(Finding(check: "tunneld", level: .ok, message: "tunneld is running."), at: 0)
            isRunning = true
        } catch {
            findings.append(Self.finding(error))
        }
        let endpoints = isRunning ? try await endpoints() : []
        let told = Set(findings.map(\.check))
        // What tunneld says of itself counts more than what this process sees.
        findings += await LocalChecks.findings(tunneldIsRunning: isRunning, endpoints: endpoints).filter {
            !told.contains($0.check)
        }
        if context.console.json {
            try context.console.print(json: DiagnosticsCalls.DoctorReply(findings: findings))
        } else {
            try context.console.print(findings.flatMap(Self.lines))
        }
        return findings.contains { $0.level == .problem } ? .failed : .done
    }

    /// Where the packets of running tunnels go.
    private func endpoints() async throws -> [String] {
        try await context.daemon.status().flatMap { $0.peers.compactMap(\.endpoint) }
    }

    private static func finding(_ error: ControlError) -> Finding {
        let message = [error.message, error.reason].compactMap(\.self).joined(separator: " ")
        return Finding(check: "tunneld", level: .problem, message: message, remedy: error.remedy)
    }

    private static func lines(_ finding: Finding) -> [StyledText] {
        let style: StyledText.Style =
            switch finding.level {
            case .ok: .good
            case .note: .plain
            case .warning: .attention
            case .problem: .bad
            }
        let level = finding.level.rawValue.padded(to: 9)
        let line: StyledText = "\(level, style)\(finding.check.padded(to: 12), .bold)\(finding.message)"
        return [line] + (finding.remedy.map { ["\("".padded(to: 21))do: \($0)"] } ?? [])
    }
}
