import ControlAPI
import ControlClient

/// `down NAME` and `down --all`: stops tunnels and waits until they are down.
struct DownCommand {
    private let context: CommandContext

    /// Taking routes, device and process back takes far less.
    private static let limit = Duration.seconds(10)

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let all = context.invocation.has(.all)
        guard all != !context.invocation.operands.isEmpty else {
            throw UsageError(all ? "--all and a NAME exclude each other." : "Give a NAME, or --all.")
        }
        return all ? try await stopAll() : try await stopOne()
    }

    private func stopOne() async throws -> ExitCode {
        let view = try await context.findSession(prefixes: false)
        guard view.isRunning else { return try await alreadyDown(view) }
        let left = try await stop([view], denied: { throw $0 })
        if let now = try await context.daemon.status(view.identifier).first {
            if context.console.json {
                try context.console.print(json: now)
            } else if left.isEmpty, view.block?.held == true {
                try tellBlock(now, wasHeld: true)
            }
        }
        return try finish(left)
    }

    /// Lifts the block of a tunnel that nobody stopped, and that is down all the same.
    private func alreadyDown(_ view: SessionView) async throws -> ExitCode {
        var view = view
        let wasHeld = view.block?.held == true
        if wasHeld {
            try await context.daemon.stop(view.identifier)
            view = try await context.daemon.status(view.identifier).first ?? view
        }
        if context.console.json {
            try context.console.print(json: view)
        } else {
            try context.console.print("\(view.name, .bold) is already down.")
            try tellBlock(view, wasHeld: wasHeld)
        }
        return .done
    }

    /// Says whether the block is lifted, or why it isn't.
    private func tellBlock(_ view: SessionView, wasHeld: Bool) throws {
        if let block = view.block, block.held {
            try context.console.print("Traffic stays blocked: \(block.reason) \(block.remedy ?? "")")
        } else if wasHeld {
            let others = view.block?.holders ?? []
            try context.console.print(
                others.isEmpty
                    ? "The block is lifted." : "Traffic stays blocked for \(others.joined(separator: ", "))."
            )
        }
    }

    /// For `remove --force`.
    func stopBeforeRemoval(_ view: SessionView) async throws {
        _ = try finish(try await stop([view], denied: { throw $0 }))
    }

    private func stopAll() async throws -> ExitCode {
        let all = try await context.daemon.status()
        let running = all.filter(\.isRunning)
        // Those that a failure ended keep the block until somebody stops them.
        for view in all where !view.isRunning && view.block?.held == true {
            do { try await context.daemon.stop(view.identifier) } catch {
                guard error.name == .permissionDenied else { throw error }
            }
        }
        var denials: [ControlError] = []
        let left = try await stop(running) { denials.append($0) }
        if context.console.json {
            let names = Set(running.map(\.identifier))
            try context.console.print(json: try await context.daemon.status().filter { names.contains($0.identifier) })
        } else if running.isEmpty {
            try context.console.print("No tunnel is up.")
        }
        // Some were stopped: all that this person may stop are down. None was: then that is the failure.
        if let denial = denials.first, denials.count == running.count { throw denial }
        for denial in denials { context.console.note("\(denial.message) It stays up.") }
        return try finish(left)
    }

    /// Asks for the stops and waits; what is still running at the end is returned.
    private func stop(_ views: [SessionView], denied: (ControlError) throws -> Void) async throws -> [SessionView] {
        guard !views.isEmpty else { return [] }
        let identifier = views.count == 1 ? views[0].identifier : nil
        let inputs = try await WaitInputs(context, identifier: identifier, alarms: [Self.limit])
        var waiting: [String: SessionView] = [:]
        for view in views {
            do {
                try await context.daemon.stop(view.identifier)
                waiting[view.identifier] = view
            } catch {
                guard error.name == .permissionDenied else { throw error }
                try denied(error)
            }
        }
        if waiting.isEmpty { return [] }
        for await input in inputs.stream {
            switch input {
            case .event(let event):
                guard let identifier = event.identifier, let view = waiting[identifier], event.isEnd(of: view) else {
                    continue
                }
                waiting[identifier] = nil
                try tellDown(view)
                if waiting.isEmpty { return [] }
            case .lost(let error): throw error
            case .alarm: return try await stillRunning(waiting)
            case .interrupted:
                context.console.note("Stopped waiting; the stop goes on.")
                return []
            }
        }
        return Array(waiting.values)
    }

    /// Reads the state, so that nothing untrue is said of a tunnel whose end wasn't told.
    private func stillRunning(_ waiting: [String: SessionView]) async throws -> [SessionView] {
        let sessions = try await context.daemon.status()
        let left = sessions.filter { waiting[$0.identifier]?.session == $0.session && $0.isRunning }
        for view in waiting.values where !left.contains(where: { $0.identifier == view.identifier }) {
            try tellDown(view)
        }
        return left
    }

    private func tellDown(_ view: SessionView) throws {
        if !context.console.json { try context.console.print("\(view.name, .bold) is down.") }
    }

    private func finish(_ left: [SessionView]) throws -> ExitCode {
        guard let first = left.min(by: { $0.name < $1.name }) else { return .done }
        throw ControlError(
            .timedOut,
            left.count == 1 ? "\(first.name) isn't down yet." : "\(left.count) tunnels aren't down yet.",
            reason: "tunneld didn't finish within 10 s.",
            remedy:
                "`\(TunnelctlCommand.text("status", first.name))` shows its state; tunneld's log says what it waits for."
        )
    }
}

extension SessionsCalls.Event {
    /// Whether the session that ran in `view` is over: down, or followed by a new one.
    fileprivate func isEnd(of view: SessionView) -> Bool {
        guard kind == .status || kind == .present else { return false }
        if let session = snapshot?.session, session != view.session { return true }
        return status == .disconnected || status == .invalid
    }
}
