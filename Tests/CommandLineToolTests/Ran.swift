import CommandLineTool
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization

/// A run of tunnelctl in this process: what it printed and its exit code.
struct Ran {
    let code: ExitCode
    let output: String
    let errors: String

    /// - Parameters:
    ///   - socket: of the fake tunneld.
    ///   - input: standard input.
    ///   - interruptions: yields where the person's signals come.
    ///   - arguments: as typed.
    static func tunnelctl(
        _ arguments: String...,
        socket: String,
        input: Int32 = -1,
        interruptions: AsyncStream<Void> = AsyncStream { $0.finish() },
        output: CapturedText = CapturedText(),
        isTerminal: Bool = false,
        environment: [String: String] = [:]
    ) async -> Ran {
        await run(
            arguments,
            socket: socket,
            input: input,
            interruptions: interruptions,
            output: output,
            isTerminal: isTerminal,
            environment: environment
        )
    }

    static func run(
        _ arguments: [String],
        socket: String,
        input: Int32 = -1,
        interruptions: AsyncStream<Void> = AsyncStream { $0.finish() },
        output: CapturedText = CapturedText(),
        isTerminal: Bool = false,
        environment: [String: String] = [:]
    ) async -> Ran {
        let errors = CapturedText()
        let tool = CommandLineTool(
            CommandLineTool.Surroundings(
                input: input,
                output: output,
                errors: errors,
                outputIsTerminal: isTerminal,
                environment: { $0 == "TUNNELD_SOCKET" ? socket : environment[$0] },
                interruptions: { interruptions }
            )
        )
        let code = await tool.run(arguments)
        return Ran(code: code, output: output.text, errors: errors.text)
    }

    /// - Parameter words: the arguments as bytes.
    static func tunnelctl(words: [[UInt8]]) async -> Ran {
        let output = CapturedText()
        let errors = CapturedText()
        let tool = CommandLineTool(
            CommandLineTool.Surroundings(
                input: -1,
                output: output,
                errors: errors,
                outputIsTerminal: false,
                environment: { _ in nil },
                interruptions: { AsyncStream { $0.finish() } }
            )
        )
        let code = await tool.run(words)
        return Ran(code: code, output: output.text, errors: errors.text)
    }

    /// Standard output as the one JSON document that it should be.
    func json<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }

    /// Standard output as JSON documents, one a line.
    func jsonLines<T: Decodable>(_ type: T.Type = T.self) throws -> [T] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
    }
}

/// Text that was written, in memory.
final class CapturedText: TextSink {
    private let bytes = Mutex<[UInt8]>([])
    /// After so many writes nobody reads any more.
    private let closesAfter: Int?
    private let writes = Atomic(0)

    init(closesAfter: Int? = nil) { self.closesAfter = closesAfter }

    func write(_ new: RawSpan) throws(OutputClosed) {
        let count = writes.add(1, ordering: .relaxed).newValue
        if let closesAfter, count > closesAfter { throw OutputClosed(SystemError(EPIPE, in: "write")) }
        bytes.withLock { bytes in
            for index in 0..<new.byteCount {
                bytes.append(unsafe new.unsafeLoad(fromByteOffset: index, as: UInt8.self))
            }
        }
    }

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
}

/// A file of `Fixtures`.
func fixture(_ name: String, beside file: String = #filePath) throws -> String {
    let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    return try String(contentsOfFile: "\(folder)/Fixtures/\(name)", encoding: .utf8)
}
