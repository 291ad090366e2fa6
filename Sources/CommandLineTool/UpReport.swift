import ControlAPI

/// What `up` tells while it waits: stages with the seconds since its begin, troubles, and the end.
final class UpReport {
    private let console: Console
    private let begin = ContinuousClock.now
    /// When it was told last that nobody has answered.
    private var lastSilence: ContinuousClock.Instant?
    /// What was told last of why it isn't connected.
    private var lastTold: WaitingText.Trouble?

    /// That a peer stayed silent is no news so soon after it was told that none has answered.
    private static let pause = Duration.seconds(3)

    init(_ console: Console) { self.console = console }

    /// With `--json`: the document of `status`, a line for each change.
    func document(_ view: SessionView) throws {
        if console.json { try console.print(json: view, streaming: true) }
    }

    /// - Parameter running: the state, where it ran before.
    func accepted(_ name: String, running: SessionView?) throws {
        guard !console.json else { return }
        guard let running else { return try console.print("\(name, .bold) is starting.") }
        let waits = running.status == .connected ? "" : "; waiting for it"
        try console.print("\(name, .bold) \(WaitingText.already(running))\(waits).")
    }

    /// Tells steps; the exit code where the wait is over.
    ///
    /// - Parameter name: of the tunnel.
    func tell(_ steps: [StartProgress.Step], of name: String) throws -> ExitCode? {
        for step in steps {
            switch step {
            case .stage(let stage): try line(StyledText(StageText.of(stage)))
            case .trouble(let view):
                let isRepetition = lastSilence.map { ContinuousClock.now - $0 < Self.pause } ?? false
                if !isRepetition || view.failure?.kind != .silent { try tell(waiting: view) }
            case .connected(let view):
                try line(WaitingText.connected(view))
                if !console.json { try console.print(WaitingText.reservations(view).map { "  \($0)" }) }
                return .done
            case .unclear: break
            case .ended(let end): throw CommandFailure(Self.failure(end, of: name), code: .failed)
            }
        }
        return nil
    }

    private static func failure(_ end: StartProgress.End, of name: String) -> ControlError {
        var error =
            end.error
            ?? ControlError(
                .connectionFailed,
                "\(name) was stopped while it was starting.",
                reason: end.reason,
                remedy: "`\(TunnelctlCommand.text("up", name))` starts it again."
            )
        if let successor = end.successor {
            let started = "It was started anew since, and is \(successor.status.rawValue)."
            error.reason = [error.reason, started].compactMap(\.self).joined(separator: " ")
            error.remedy =
                "`\(TunnelctlCommand.text("status", name))` shows the new session, "
                + "`\(TunnelctlCommand.text("up", name))` waits for it."
        }
        return error
    }

    /// Tells why it isn't connected, who doesn't answer and what to do.
    func tell(waiting view: SessionView) throws {
        guard !console.json else { return }
        if view.failure.map({ $0.kind == .silent }) ?? true { lastSilence = .now }
        let trouble = WaitingText.trouble(view)
        defer { lastTold = trouble }
        guard trouble.topic != lastTold?.topic else {
            return try line("still waiting: \(trouble.attempts) sent")
        }
        try line(StyledText(trouble.what, .attention))
        var lines = trouble.peers.map { StyledText($0) }
        if let remedy = trouble.remedy { lines.append("do: \(remedy)") }
        try console.print(lines.map { "           \($0)" })
    }

    /// Why it isn't connected at the end, without the parts that stand just above already.
    func final(_ trouble: WaitingText.Trouble) -> (reason: String, remedy: String?) {
        guard !console.json, trouble.topic == lastTold?.topic else {
            return (([trouble.what] + trouble.peers.map { $0 + "." }).joined(separator: " "), trouble.remedy)
        }
        return (trouble.what, nil)
    }

    private func line(_ text: StyledText) throws {
        guard !console.json else { return }
        let tenths = Int((ContinuousClock.now - begin) / .milliseconds(100))
        let seconds = "\(tenths / 10).\(tenths % 10) s"
        let padding = String(repeating: " ", count: max(0, 7 - seconds.count))
        try console.print("\(padding)\(seconds, .dim)  \(text)")
    }
}
