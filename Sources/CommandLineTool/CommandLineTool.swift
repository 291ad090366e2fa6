import ControlAPI
import ControlClient
import Glibc
import LinuxSystem

/// tunnelctl: reads a command line, does what it says, and answers with an exit code.
package struct CommandLineTool: Sendable {
    /// Where the program runs: what `main` finds, and what a test makes up.
    package struct Surroundings: Sendable {
        /// A descriptor.
        package var input: Int32
        package var output: any TextSink
        package var errors: any TextSink
        package var outputIsTerminal: Bool
        package var environment: @Sendable (String) -> String?
        package var interruptions: @Sendable () -> AsyncStream<Void>

        package init(
            input: Int32,
            output: any TextSink,
            errors: any TextSink,
            outputIsTerminal: Bool,
            environment: @escaping @Sendable (String) -> String?,
            interruptions: @escaping @Sendable () -> AsyncStream<Void>
        ) {
            self.input = input
            self.output = output
            self.errors = errors
            self.outputIsTerminal = outputIsTerminal
            self.environment = environment
            self.interruptions = interruptions
        }
    }

    private let surroundings: Surroundings

    package init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    /// - Parameter words: the arguments as the system has them, without the program's name.
    package func run(_ words: [[UInt8]]) async -> ExitCode {
        guard let index = words.firstIndex(where: { FileName.text($0) == nil }) else {
            return await run(words.map { String(decoding: $0, as: UTF8.self) })
        }
        let error = UsageError(
            "\"\(FileName.shown(words[index]))\" isn't UTF-8.",
            hint: "A file with such a name is imported by `tunnelctl import - --name NAME < FILE`."
        )
        let json = words.contains(Array(Option.json.rawValue.utf8))
        return report(error, on: console(json: json))
    }

    /// - Parameter arguments: without the program's name.
    package func run(_ arguments: [String]) async -> ExitCode {
        // Of a line that can't be parsed, this word alone says how its error is to be written.
        let words = arguments.prefix { $0 != "--" }
        let console = console(json: words.contains(Option.json.rawValue))
        do {
            let invocation = try ArgumentParser.parse(arguments)
            let socket = ControlSocketPath.find(
                explicit: invocation.value(.socket),
                environment: surroundings.environment
            )
            let context = CommandContext(
                invocation: invocation,
                console: console,
                daemon: DaemonClient(socket: socket),
                input: surroundings.input,
                environment: surroundings.environment,
                interruptions: surroundings.interruptions
            )
            do {
                return try await run(context)
            } catch let error as UsageError {
                throw error.completed(by: CommandDescription.of(invocation.command))
            }
        } catch {
            return report(error, on: console)
        }
    }

    private func run(_ context: CommandContext) async throws -> ExitCode {
        switch context.invocation.command {
        case .importFile: try await ImportCommand(context).run()
        case .new: try await NewCommand(context).run()
        case .list: try await ListCommand(context).run()
        case .show: try await ShowCommand(context).run()
        case .edit: try await EditCommand(context).run()
        case .set, .enable, .disable: try await SetCommand(context).run()
        case .export: try await ExportCommand(context).run()
        case .rename: try await RenameCommand(context).run()
        case .history: try await HistoryCommand(context).run()
        case .restore: try await RestoreCommand(context).run()
        case .remove: try await RemoveCommand(context).run()
        case .keychain: try await KeychainCommand(context).run()
        case .up: try await UpCommand(context).run()
        case .down: try await DownCommand(context).run()
        case .status: try await StatusCommand(context).run()
        case .watch: try await WatchCommand(context).run()
        case .stats: try await StatisticsCommand(context).run()
        case .message: try await MessageCommand(context).run()
        case .network: try await NetworkCommand(context).run()
        case .doctor: try await DoctorCommand(context).run()
        case .repair: try await RepairCommand(context).run()
        case .version: try await VersionCommand(context).run()
        case .help: try HelpCommand(context).run()
        }
    }

    private func report(_ error: any Error, on console: Console) -> ExitCode {
        switch error {
        case let error as OutputClosed:
            if error.cause.code == EPIPE { return .outputClosed }
            console.report(ControlError(.internalError, "The output can't be written.", reason: "\(error.cause)"))
            return .failed
        case let error as UsageError:
            console.report(ControlError(.invalidParameter, error.message, remedy: error.hint))
            return .wrongUsage
        case let failure as ImportFailure:
            console.report(failure)
            return failure.code
        case let error as CommandFailure:
            console.report(error.error)
            return error.code
        case let error as ControlError:
            console.report(error)
            return ExitCode(error)
        default:
            console.report(ControlError(.internalError, "The command failed.", reason: "\(error)"))
            return .failed
        }
    }

    /// Colour is for a person at a terminal who hasn't refused it (https://no-color.org).
    private func console(json: Bool) -> Console {
        let environment = surroundings.environment
        let refused = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return Console(
            output: surroundings.output,
            errors: surroundings.errors,
            json: json,
            isTerminal: surroundings.outputIsTerminal,
            colour: surroundings.outputIsTerminal && !refused && environment("TERM") != "dumb"
        )
    }
}
