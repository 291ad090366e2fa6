import ControlAPI
import Glibc
import LinuxSystem
import WireGuardConfig

/// A file to import, read once; its bytes, which hold secrets, are wiped when it goes.
final class ImportFile {
    /// As it is called in messages.
    let path: String
    /// The file's name without its folder and `.conf`.
    let suggestedName: String
    /// Whether everybody on this machine may read it.
    let isWorldReadable: Bool
    private(set) var bytes: [UInt8]

    /// - Parameters:
    ///   - path: "-" for standard input.
    ///   - input: the descriptor of standard input.
    /// - Throws: for what can't be opened, isn't a regular file, is larger than 16 MiB, or is of a kind that can't be
    ///   imported.
    init(_ path: String, input: Int32) throws(ControlError) {
        let isInput = path == "-"
        self.path = isInput ? "standard input" : path
        let name = path.split(separator: "/").last.map(String.init) ?? path
        suggestedName = name.hasSuffix(".conf") ? String(name.dropLast(5)) : name
        do throws(SystemError) {
            // Nonblocking, so that a named pipe is refused and not waited for.
            let file = OwnedDescriptor(
                adopting: try isInput
                    ? check("fcntl") { fcntl(input, F_DUPFD_CLOEXEC, 3) }
                    : check("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
            )
            var status = stat()
            let raw = file.raw
            try check("fstat") { unsafe fstat(raw, &status) }
            guard isInput || status.st_mode & S_IFMT == S_IFREG else {
                throw SystemError(ENODEV, in: "fstat")
            }
            isWorldReadable = !isInput && status.st_mode & S_IROTH != 0
            let limit = ConfigurationReader.maximumFileBytes
            guard isInput || status.st_size <= limit else { throw SystemError(EFBIG, in: "fstat") }
            bytes = try FileSystem.contents(of: file, limit: limit)
        } catch {
            throw Self.controlError(error, path: self.path)
        }
        if name.hasSuffix(".mobileconfig") || bytes.starts(with: "<?xml".utf8) || bytes.starts(with: "bplist".utf8) {
            throw ControlError(
                .invalidParameter,
                "\(self.path) is an Apple profile, which this version can't import yet.",
                remedy: "Import the WireGuard .conf file."
            )
        }
    }

    deinit {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
        }
    }

    private static func controlError(_ error: SystemError, path: String) -> ControlError {
        switch error.code {
        case ENODEV, ENXIO: ControlError(.invalidParameter, "\(path) is neither a regular file nor a folder.")
        case EFBIG: ControlError(.tooMany, "\(path) is larger than the limit of 16 MiB.")
        case EACCES: ControlError(.permissionDenied, "\(path) may not be read.", reason: "\(error)")
        default: ControlError(.invalidParameter, "\(path) can't be read.", reason: "\(error)")
        }
    }
}
