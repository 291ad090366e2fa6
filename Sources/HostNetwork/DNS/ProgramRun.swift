import Glibc
import LinuxSystem

/// Runs a program as ourselves, without a shell and within a time limit.
enum ProgramRun {
    struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        let description: String
    }

    /// Of what a program says on standard error.
    private static let wordsLimit = 4 << 10

    /// Blocks until the program has ended, or was killed for taking too long.
    ///
    /// - Parameters:
    ///   - input: what it reads on standard input; at most what a pipe holds, 64 KiB.
    /// - Throws: why it couldn't be run, or how it failed and what it said.
    static func run(
        _ path: String,
        _ arguments: [String],
        input: String = "",
        milliseconds: Int32
    ) throws(Failure) {
        do throws(SystemError) {
            try FaultPoint.reach("run \(path) \(arguments.first ?? "")")
            let (errorReader, errorWriter) = try Pipe.make()
            let process = try spawn(path, arguments, input: try feed(input), error: errorWriter)
            guard process.waitForEnd(milliseconds: milliseconds) else {
                // What it started belongs to its group.
                kill(-process.pid, SIGKILL)
                _ = process.waitForEnd(milliseconds: -1)
                _ = process.collect()
                throw SystemError(ETIMEDOUT, call: "\(path), which was killed after \(milliseconds / 1000) s")
            }
            let end = process.collect() ?? .unknown
            guard end != .exited(0) else { return }
            throw SystemError(EIO, call: "\(path) \(end)\(words(errorReader))")
        } catch {
            throw Failure(description: error.code == EIO ? error.call : error.description)
        }
    }

    /// A pipe with the input in it and nobody to write more.
    private static func feed(_ input: String) throws(SystemError) -> SharedDescriptor {
        let (reader, writer) = try Pipe.make()
        let bytes = Array(input.utf8.prefix(60 << 10))
        try AtomicFile.writeAll(unsafe bytes.span.bytes, to: writer.raw)
        return reader
    }

    private static func words(_ descriptor: SharedDescriptor) -> String {
        _ = fcntl(descriptor.raw, F_SETFL, O_NONBLOCK)
        var buffer = [UInt8](repeating: 0, count: wordsLimit)
        let count = unsafe read(descriptor.raw, &buffer, buffer.count)
        guard count > 0 else { return "" }
        let text = String(decoding: buffer.prefix(count), as: UTF8.self)
        return ": " + text.split(whereSeparator: \.isNewline).prefix(3).joined(separator: " ")
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        input: SharedDescriptor,
        error: SharedDescriptor
    ) throws(SystemError) -> ProcessDescriptor {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, input.raw, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, error.raw, 2)
        var all = sigset_t()
        unsafe sigfillset(&all)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        // What we ignore or block ourselves must not be so for the program.
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        var words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var variables = unsafe [strdup("PATH=\(ResolvconfProgram.standardPath)"), nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let code = unsafe posix_spawn(&pid, path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemError(code, call: path) }
        return try ProcessDescriptor(pid: pid)
    }
}
