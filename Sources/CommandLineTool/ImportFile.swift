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
        self.path = InputFile.name(path, input: input)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        suggestedName = Self.hasEnding(name) ? String(name.dropLast(Self.ending.count)) : name
        do throws(SystemError) {
            let file = try InputFile(path, input: input, limit: ConfigurationReader.maximumFileBytes)
            isWorldReadable = file.isWorldReadable
            bytes = file.bytes
        } catch {
            throw Self.controlError(error, path: self.path)
        }
        if Self.isAppleProfile(name) || bytes.starts(with: "<?xml".utf8) || bytes.starts(with: "bplist".utf8) {
            throw ControlError(
                .invalidParameter,
                "\(self.path) is an Apple profile, which this version can't import yet.",
                remedy: "Import the WireGuard .conf file."
            )
        }
    }

    private static let ending = ".conf"

    /// Whether a name is that of a `.conf` file, in whatever case: some systems write it in capitals.
    static func hasEnding(_ name: String) -> Bool {
        name.utf8.count > ending.utf8.count && name.lowercased().hasSuffix(ending)
    }

    static func isAppleProfile(_ name: String) -> Bool { name.lowercased().hasSuffix(".mobileconfig") }

    deinit {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
        }
    }

    private static func controlError(_ error: SystemError, path: String) -> ControlError {
        switch error.code {
        case ENODEV, ENXIO:
            ControlError(
                .invalidParameter,
                "\(path) is neither a regular file nor a folder.",
                remedy: "Name a file, or hand over its text: `tunnelctl import - --name NAME < FILE`."
            )
        case EFBIG:
            ControlError(
                .tooMany,
                "\(path) is larger than the limit of 16 MiB.",
                remedy: "A configuration is far smaller: look whether it is the right file."
            )
        case EACCES, EPERM:
            ControlError(
                .permissionDenied,
                "\(path) may not be read.",
                reason: "\(error)",
                remedy: "Run it as a user who may read it, for example with sudo."
            )
        case ENOENT:
            ControlError(
                .notFound,
                "There is no file \(path).",
                reason: "\(error)",
                remedy: "Check the path; WireGuard's own files are in /etc/wireguard."
            )
        default:
            ControlError(.invalidParameter, "\(path) can't be read.", reason: "\(error)", remedy: "Check the path.")
        }
    }
}
