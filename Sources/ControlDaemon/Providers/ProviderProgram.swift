import ControlAPI
import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes

/// Runs a provider's program for an answer on its standard output: `--describe`, `--validate`.
///
/// It runs without privileges, and what it may say and how long it may take is limited.
enum ProviderProgram {
    static let outputLimit = 1 << 20
    static let patience = Interval.seconds(10)

    /// What it printed.
    ///
    /// - Parameter input: what it reads from standard input.
    /// - Throws: `providerFailed`.
    static func output(
        of program: String,
        _ argument: String,
        input: [UInt8] = []
    ) async throws(ControlError) -> [UInt8] {
        let result = await withCheckedContinuation { continuation in
            // Waiting for a process blocks a thread, and must not be one of the tasks'.
            DispatchQueue(label: "provider-program").async {
                continuation.resume(returning: run(program, argument, input))
            }
        }
        switch result {
        case .success(let bytes): return bytes
        case .failure(let failure):
            throw ControlError(
                .providerFailed,
                "The provider's program \(program) \(argument) gave no answer.",
                reason: failure.reason,
                remedy: SpawnFailure.remedy(for: failure.spawn) ?? "Install the provider again."
            )
        }
    }

    private struct Failure: Error {
        let reason: String
        var spawn: SpawnError?
    }

    private static func run(_ program: String, _ argument: String, _ input: [UInt8]) -> Result<[UInt8], Failure> {
        do {
            let (reader, process) = try start(program, argument, input)
            defer {
                try? process.signal(SIGKILL)
                _ = process.waitForEnd(milliseconds: -1)
                _ = process.collect()
            }
            let bytes = try read(reader, until: Instant.now() + patience)
            guard process.waitForEnd(milliseconds: 1000), let end = process.collect() else {
                throw Failure(reason: "It did not end.")
            }
            guard end == .exited(0) else { throw Failure(reason: "It \(end).") }
            return .success(bytes)
        } catch let failure as Failure {
            return .failure(failure)
        } catch {
            return .failure(Failure(reason: "\(error).", spawn: error as? SpawnError))
        }
    }

    private static func start(
        _ program: String,
        _ argument: String,
        _ input: [UInt8]
    ) throws -> (SharedDescriptor, ProcessDescriptor) {
        let (reader, writer) = try Pipe.make()
        var child = ChildProcess(program: program, arguments: [argument], user: ProviderUser.inquiry)
        child.output = writer
        child.input = SharedDescriptor(
            try unsafe MemoryFile.make(name: "input", count: input.count) { unsafe $0.copyBytes(from: input) }
        )
        return (reader, try child.start())
    }

    private static func read(_ reader: SharedDescriptor, until deadline: Instant) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let left = (deadline - Instant.now()).nanoseconds / 1_000_000
            var request = pollfd(fd: reader.raw, events: Int16(POLLIN), revents: 0)
            guard left > 0, unsafe poll(&request, 1, Int32(clamping: left)) > 0 else {
                throw Failure(reason: "It gave no answer within \(Int(patience.inSeconds)) seconds.")
            }
            let count = try check("read") { unsafe Glibc.read(reader.raw, &chunk, chunk.count) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= outputLimit else { throw Failure(reason: "It printed over \(outputLimit) bytes.") }
        }
    }
}
