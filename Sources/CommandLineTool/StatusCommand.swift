import ControlAPI
import ControlClient

/// `status [NAME] [--check]`: what one tunnel does, or all of them.
struct StatusCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let views = context.invocation.operands.isEmpty ? try await context.daemon.status() : try await one()
        if context.invocation.operands.isEmpty {
            if context.console.json {
                try context.console.print(json: views)
            } else {
                let owners = try await context.ownersWhereAlike(views)
                try context.console.print(SessionTable.lines(views, owners: owners))
            }
        }
        let faults = views.compactMap(Self.fault)
        guard context.invocation.has(.check), !faults.isEmpty else { return .done }
        context.console.note("\(faults.joined(separator: ", ")).")
        return .notConnected
    }

    /// What a check finds: a tunnel that isn't connected, that traffic goes round or through another, or whose name servers nobody asks.
    private static func fault(_ view: SessionView) -> String? {
        if view.status != .connected { return "\(view.name) is \(view.status.rawValue)" }
        if !view.lostRoutes.isEmpty {
            return "traffic to \(view.lostRoutes.joined(separator: " ")) doesn't go through \(view.name)"
        }
        if let first = view.yieldedRoutes.first {
            let prefixes = view.yieldedRoutes.map(\.prefix).joined(separator: " ")
            return "traffic to \(prefixes) goes through \(first.name ?? first.interface), not \(view.name)"
        }
        return view.dns?.effective == false ? "\(view.name): its DNS isn't effective" : nil
    }

    private func one() async throws -> [SessionView] {
        let view = try await context.findSession()
        if context.console.json {
            try context.console.print(json: view)
        } else {
            try context.console.print(SessionText.lines(view))
        }
        return [view]
    }
}
