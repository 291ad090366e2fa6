import ControlAPI
import ControlClient

/// `repair`: takes back everything that tunneld left on the machine and that no running tunnel needs.
struct RepairCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let reply = try await reply()
        if context.console.json {
            try context.console.print(json: reply)
        } else if reply.removed.isEmpty, reply.failed.isEmpty {
            try context.console.print(["Nothing of tunneld's was left behind."])
        } else {
            try context.console.print(
                reply.removed.map { "Removed \($0)." } + reply.failed.map { "Can't remove \($0)." }
            )
        }
        return reply.failed.isEmpty ? .done : .failed
    }

    private func reply() async throws -> NetworkCalls.RepairReply {
        do throws(ControlError) {
            return try await context.daemon.repair()
        } catch {
            guard error.name == .notRunning else { throw error }
        }
        let socket = context.daemon.socket
        let runtime = socket.lastIndex(of: "/").map { String(socket[..<$0]) } ?? "."
        return try LocalRepair(runtime: runtime, force: context.invocation.has(.force)).run()
    }
}
