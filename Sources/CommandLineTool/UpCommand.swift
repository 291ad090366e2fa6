import ControlAPI
import ControlClient

/// `up NAME`: starts a tunnel and waits until a peer has answered.
struct UpCommand {
    private let context: CommandContext
    private let timeout: Double
    private let report: UpReport

    /// When a peer that doesn't answer is told, in seconds; a change of the reason is told at once.
    private static let tellings: [Double] = [4.5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]

    init(_ context: CommandContext) throws(UsageError) {
        self.context = context
        timeout = try context.invocation.seconds(.timeout, default: 30)
        report = UpReport(context.console)
    }

    func run() async throws -> ExitCode {
        let view = try await context.findSession()
        if context.invocation.has(.noWait) { return try await startOnly(view) }
        do {
            return try await startAndWait(view)
        } catch let failure as CommandFailure where failure.code == .failed {
            throw CommandFailure(await tellingBlock(failure.error, view), code: .failed)
        }
    }

    /// A failure, with what it leaves in force: who has no network now should learn here why.
    private func tellingBlock(_ error: ControlError, _ known: SessionView) async -> ControlError {
        guard let view = try? await present(known), !view.isRunning, let block = view.block, block.held else {
            return error
        }
        var error = error
        let reason = block.inForce ? "Traffic stays blocked: \(block.reason)" : block.reason
        error.remedy = [error.remedy, reason, block.remedy].compactMap(\.self).joined(separator: " ")
        return error
    }

    private func startAndWait(_ view: SessionView) async throws -> ExitCode {
        let alarms = [timeout] + Self.tellings.filter { $0 < timeout }
        // Monitoring begins before the start, so that no event of it is missed.
        let inputs = try await WaitInputs(context, identifier: view.identifier, alarms: alarms.map { .seconds($0) })
        var progress: StartProgress?
        var lost: ControlError?
        for await input in inputs.stream {
            switch input {
            case .event(let event):
                lost = nil
                if progress == nil {
                    guard event.kind == .ready else { continue }
                    progress = try await start(view)
                    if let code = try await read(view, &progress) { return code }
                } else if let code = try await take(event, of: view, &progress) {
                    return code
                }
            case .lost(let error):
                lost = error
                context.console.note("The connection to tunneld was lost; what runs goes on. Waiting for tunneld.")
            case .alarm(0): return try await giveUp(view, &progress, lost)
            case .alarm: if lost == nil, let code = try await read(view, &progress, telling: true) { return code }
            case .interrupted: return interrupted(view)
            }
        }
        return .notConnected
    }

    private func startOnly(_ view: SessionView) async throws -> ExitCode {
        let reply = try await context.daemon.start(view.identifier)
        if context.console.json {
            try context.console.print(json: reply)
        } else {
            let running = reply.alreadyRunning ? try await present(view) : nil
            let what = running.map(WaitingText.already) ?? "is starting"
            try context.console.print(
                "\(view.name, .bold) \(what); `\(TunnelctlCommand.text("status", view.name))` shows how far it is."
            )
        }
        return .done
    }

    private func start(_ view: SessionView) async throws -> StartProgress {
        let reply = try await context.daemon.start(view.identifier)
        try report.accepted(view.name, running: reply.alreadyRunning ? try await present(view) : nil)
        return StartProgress(session: reply.session, tellsPast: !reply.alreadyRunning)
    }

    private func take(
        _ event: SessionsCalls.Event,
        of known: SessionView,
        _ progress: inout StartProgress?
    ) async throws -> ExitCode? {
        if let snapshot = event.snapshot { try report.document(snapshot) }
        let steps = progress?.take(event) ?? []
        if steps.contains(.unclear) { return try await read(known, &progress) }
        return try report.tell(steps, of: known.name)
    }

    /// Reads the state as it is now: what was so before the first event counts as well.
    private func read(
        _ known: SessionView,
        _ progress: inout StartProgress?,
        telling: Bool = false
    ) async throws -> ExitCode? {
        guard progress != nil else { return nil }
        guard let view = try await present(known) else { return nil }
        let steps = progress?.takeRead(view) ?? []
        if telling || !steps.isEmpty { try report.document(view) }
        if let code = try report.tell(steps, of: known.name) { return code }
        let isTold = steps.contains { if case .trouble = $0 { true } else { false } }
        if telling, !isTold { try report.tell(waiting: view) }
        return nil
    }

    /// Nil where tunneld has just gone away: the stream of events tells that, and waits for its return.
    private func present(_ known: SessionView) async throws -> SessionView? {
        do {
            return try await context.daemon.status(known.identifier).first
        } catch {
            if ExitCode(error) == .tunneldNotRunning { return nil }
            throw error
        }
    }

    private func giveUp(
        _ known: SessionView,
        _ progress: inout StartProgress?,
        _ lost: ControlError?
    ) async throws -> ExitCode {
        if let lost { throw lost }
        let view = try await context.daemon.status(known.identifier).first ?? known
        try report.document(view)
        // What happened at the last moment counts.
        if let code = try report.tell(progress?.takeRead(view) ?? [], of: known.name) { return code }
        let (reason, remedy) = report.final(WaitingText.trouble(view))
        let after = timeout == timeout.rounded() ? "\(Int(timeout)) s" : "\(timeout) s"
        throw CommandFailure(
            ControlError(
                .timedOut,
                "\(known.name) isn't connected after \(after); it keeps trying.",
                reason: reason,
                remedy: [remedy, ways(known)].compactMap(\.self).joined(separator: " ")
            ),
            code: .notConnected
        )
    }

    private func interrupted(_ view: SessionView) -> ExitCode {
        context.console.note("Stopped waiting; \(view.name) keeps trying. \(ways(view))")
        return .notConnected
    }

    private func ways(_ view: SessionView) -> String {
        "`\(TunnelctlCommand.text("status", view.name))` shows how far it is, "
            + "`\(TunnelctlCommand.text("down", view.name))` stops it."
    }
}
