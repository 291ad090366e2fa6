import Glibc
import LinuxSystem

/// A file that a command reads whole, or what is open already.
struct InputFile {
    let bytes: [UInt8]
    /// Whether everybody on this machine may read it.
    let isWorldReadable: Bool

    /// - Parameters:
    ///   - path: "-" for standard input.
    ///   - input: the descriptor of standard input.
    /// - Throws: what can't be opened; ENODEV for a name that isn't a regular file's; EFBIG beyond the limit.
    init(_ path: String, input: Int32, limit: Int) throws(SystemError) {
        let open = Self.descriptor(path, input: input)
        // Nonblocking, so that a named pipe is refused and not waited for.
        let file = OwnedDescriptor(
            adopting: try check("open") {
                if let open { return fcntl(open, F_DUPFD_CLOEXEC, 3) }
                return unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            }
        )
        var status = stat()
        let raw = file.raw
        try check("fstat") { unsafe fstat(raw, &status) }
        guard open != nil || status.st_mode & S_IFMT == S_IFREG else { throw SystemError(ENODEV, in: "fstat") }
        guard open != nil || status.st_size <= limit else { throw SystemError(EFBIG, in: "fstat") }
        isWorldReadable = open == nil && status.st_mode & S_IROTH != 0
        bytes = try FileSystem.contents(of: file, limit: limit)
    }

    /// As it is called in messages.
    static func name(_ path: String, input: Int32) -> String {
        descriptor(path, input: input) == input ? "standard input" : path
    }

    /// Whether a path means something that is open already, and so has no name of its own.
    static func isOpen(_ path: String) -> Bool { descriptor(path, input: STDIN_FILENO) != nil }

    /// The descriptor that a path means; nil for a file by name.
    ///
    /// Beside "-" these are the names that a shell gives to standard input and to `<(command)`.
    private static func descriptor(_ path: String, input: Int32) -> Int32? {
        if path == "-" || path == "/dev/stdin" { return input }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            guard let descriptor = Int32(path.dropFirst(folder.count)), descriptor >= 0 else { return nil }
            return descriptor == STDIN_FILENO ? input : descriptor
        }
        return nil
    }
}
