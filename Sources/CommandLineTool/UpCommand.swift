import ControlAPI
import ControlClient

/// `up NAME`: starts a tunnel and waits until a peer has answered.
struct UpCommand {
    private let context: CommandContext
    private let timeout: Double
    private let begin = ContinuousClock.now

    /// When a peer that doesn't answer is told, in seconds; a change of the reason is told at once.
    private static let tellings: [Double] = [4.5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]

    init(_ context: CommandContext) throws(UsageError) {
        self.context = context
        timeout = try context.invocation.seconds(.timeout, default: 30)
    }

    func run() async throws -> ExitCode {
        let view = try await context.findSession()
        if context.invocation.has(.noWait) { return try await startOnly(view) }
        let alarms = [timeout] + Self.tellings.filter { $0 < timeout }
        // Monitoring begins before the start, so that no event of it is missed.
        let inputs = try await WaitInputs(context, identifier: view.identifier, alarms: alarms.map { .seconds($0) })
        var progress: StartProgress?
        var lost: ControlError?
        for await input in inputs.stream {
            switch input {
            case .event(let event):
                lost = nil
                if event.kind == .ready, progress == nil {
                    progress = try await start(view)
                    if let code = try await takePresent(view, &progress) { return code }
                } else if progress != nil {
                    if let snapshot = event.snapshot { try printDocument(snapshot) }
                    if let code = try tell(progress?.take(event) ?? []) { return code }
                }
            case .lost(let error):
                lost = error
                context.console.note("The connection to tunneld was lost; the tunnel goes on. Waiting for tunneld.")
            case .alarm(0): return try await giveUp(view, lost)
            case .alarm:
                if lost == nil, let code = try await takePresent(view, &progress, telling: true) { return code }
            case .interrupted: return interrupted(view)
            }
        }
        return .notConnected
    }

    /// With `--json`: the document of `status`, a line for each change.
    private func printDocument(_ view: SessionView) throws {
        if context.console.json { try context.console.print(json: view, streaming: true) }
    }

    private func startOnly(_ view: SessionView) async throws -> ExitCode {
        let reply = try await context.daemon.start(view.identifier)
        if context.console.json {
            try context.console.print(json: reply)
        } else if reply.alreadyRunning {
            try context.console.print(
                "\(view.name, .bold) is already up; `tunnelctl status \(view.name)` shows how far it is."
            )
        } else {
            try context.console.print(
                "\(view.name, .bold) is starting; `tunnelctl status \(view.name)` shows how far it is."
            )
        }
        return .done
    }

    private func start(_ view: SessionView) async throws -> StartProgress {
        let reply = try await context.daemon.start(view.identifier)
        if !context.console.json {
            try context.console.print(
                reply.alreadyRunning ? "\(view.name, .bold) is already up." : "\(view.name, .bold) is starting."
            )
        }
        return StartProgress(session: reply.session)
    }

    /// Reads the state as it is now: what was so before the first event counts as well.
    private func takePresent(
        _ known: SessionView,
        _ progress: inout StartProgress?,
        telling: Bool = false
    ) async throws -> ExitCode? {
        guard let view = try await context.daemon.status(known.identifier).first else { return nil }
        let steps = progress?.takeRead(view) ?? []
        if telling || !steps.isEmpty { try printDocument(view) }
        if let code = try tell(steps) { return code }
        let told = steps.contains { if case .trouble = $0 { true } else { false } }
        if telling, !told, !context.console.json { try tell(waiting: view) }
        return nil
    }

    /// Prints steps; the exit code where the wait is over.
    private func tell(_ steps: [StartProgress.Step]) throws -> ExitCode? {
        for step in steps {
            switch step {
            case .stage(let stage): try line(StyledText(StageText.of(stage)))
            case .trouble(let view): try tell(waiting: view)
            case .connected(let view):
                guard !context.console.json else { return .done }
                try line(WaitingText.connected(view))
                for reservation in WaitingText.reservations(view) { try context.console.print("  \(reservation)") }
                return .done
            case .ended(let error):
                let stopped = ControlError(.connectionFailed, "The tunnel was stopped while it was starting.")
                throw CommandFailure(error ?? stopped, code: .failed)
            }
        }
        return nil
    }

    private func tell(waiting view: SessionView) throws {
        let lines = WaitingText.lines(view)
        try line(lines[0])
        if !context.console.json { try context.console.print(lines.dropFirst().map { "         \($0)" }) }
    }

    /// A line with the seconds since the command began; with `--json` the event itself was printed.
    private func line(_ text: StyledText) throws {
        guard !context.console.json else { return }
        let tenths = (ContinuousClock.now - begin) / .milliseconds(100)
        let seconds = "\(Int(tenths) / 10).\(Int(tenths) % 10) s"
        let padding = String(repeating: " ", count: max(0, 7 - seconds.count))
        try context.console.print("\(padding)\(seconds, .dim)  \(text)")
    }

    private func giveUp(_ known: SessionView, _ lost: ControlError?) async throws -> ExitCode {
        if let lost { throw lost }
        let view = try await context.daemon.status(known.identifier).first
        if let view {
            try printDocument(view)
            if !context.console.json { try tell(waiting: view) }
        }
        let failure = view?.failure ?? view?.peers.lazy.compactMap(\.failure).first
        let after = timeout == timeout.rounded() ? "\(Int(timeout)) s" : "\(timeout) s"
        throw CommandFailure(
            ControlError(
                .timedOut,
                "\(known.name) isn't connected after \(after); it keeps trying.",
                reason: failure?.message ?? view?.reason,
                remedy: (failure.map { "\($0.remedy) " } ?? "") + ways(known)
            ),
            code: .notConnected
        )
    }

    private func interrupted(_ view: SessionView) -> ExitCode {
        context.console.note("Stopped waiting; \(view.name) keeps trying. \(ways(view))")
        return .notConnected
    }

    private func ways(_ view: SessionView) -> String {
        "`tunnelctl status \(view.name)` shows how far it is, `tunnelctl down \(view.name)` stops it."
    }
}
