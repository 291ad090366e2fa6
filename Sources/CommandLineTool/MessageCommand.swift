import ControlAPI
import ControlClient
import Glibc
import LinuxSystem

/// `message NAME [TEXT|-|--file FILE]`: sends a message to a tunnel's provider and prints its answer.
struct MessageCommand {
    private let context: CommandContext
    private let timeout: Double

    init(_ context: CommandContext) throws(UsageError) {
        self.context = context
        timeout = try context.invocation.seconds(.timeout, default: MessageCalls.standardTimeout)
        guard timeout <= MessageCalls.longestTimeout else {
            throw UsageError("--timeout takes at most \(Int(MessageCalls.longestTimeout)) seconds.")
        }
    }

    /// What `--json` prints.
    private struct Answer: Encodable {
        let identifier, name: String
        let reply: DataValue?
        /// The answer as text, where it is that.
        let text: String?

        private enum CodingKeys: String, CodingKey { case identifier, name, reply, text }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(identifier, forKey: .identifier)
            try container.encode(name, forKey: .name)
            try container.encode(reply, forKey: .reply)
            try container.encode(text, forKey: .text)
        }
    }

    func run() async throws -> ExitCode {
        let message = try message()
        let found = try await context.find()
        let reply = try await context.daemon.sendMessage(found.identifier, message, timeout: timeout)
        let bytes = reply.map { Array($0.bytes) } ?? []
        let text = String(validating: bytes, as: UTF8.self)
        if context.console.json {
            let text = reply == nil ? nil : text
            try context.console.print(
                json: Answer(identifier: found.identifier, name: found.name, reply: reply, text: text)
            )
        } else if !context.console.isTerminal {
            try context.console.print(bytes: bytes)
        } else if let text {
            try context.console.printFile(text.isEmpty || text.hasSuffix("\n") ? text : text + "\n")
        } else {
            context.console.note("The answer has \(bytes.count) bytes that aren't text; pipe it, or use --json.")
        }
        return .done
    }

    private func message() throws -> DataValue? {
        let typed = context.invocation.operands.count > 1 ? context.invocation.operand(1) : nil
        let file = context.invocation.value(.file)
        guard typed == nil || file == nil else { throw UsageError("TEXT and --file exclude each other.") }
        if let file { return DataValue(try contents(file)) }
        return typed == "-" ? DataValue(try contents("-")) : typed.map { DataValue($0.utf8) }
    }

    /// - Parameter path: "-" for standard input.
    private func contents(_ path: String) throws -> [UInt8] {
        do throws(SystemError) {
            return try InputFile(path, input: context.input, limit: MessageCalls.limit).bytes
        } catch {
            throw ControlError(
                error.code == EACCES ? .permissionDenied : .invalidParameter,
                "\(InputFile.name(path, input: context.input)) can't be sent.",
                reason: error.code == EFBIG ? "A message has at most \(MessageCalls.limit) bytes." : "\(error)."
            )
        }
    }
}
