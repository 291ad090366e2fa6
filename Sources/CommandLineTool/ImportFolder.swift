import ControlAPI
import Glibc
import LinuxSystem

/// A folder to import: its `.conf` files, and what else lies there.
struct ImportFolder {
    /// Something in the folder that is not imported.
    struct LeftOut: Encodable {
        /// Its path, escaped where it isn't UTF-8.
        let file: String
        let notTaken: String
    }

    /// The paths of the files to import, by name.
    private(set) var files: [String] = []
    private(set) var leftOut: [LeftOut] = []

    /// - Returns: nil for what is no folder.
    /// - Throws: for a folder that can't be read.
    init?(_ path: String) throws(ControlError) {
        var status = stat()
        guard path != "-", unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        let names: [[UInt8]]
        do throws(SystemError) {
            names = try FileSystem.rawNames(inFolder: path)
        } catch {
            throw ControlError(
                error.code == EACCES ? .permissionDenied : .invalidParameter,
                "The folder \(path) can't be read.",
                reason: "\(error)",
                remedy: error.code == EACCES ? "Run it as a user who may read it, for example with sudo." : nil
            )
        }
        let prefix = path.hasSuffix("/") ? path : path + "/"
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            if let reason = Self.reasonAgainst(name, in: prefix) {
                leftOut.append(LeftOut(file: prefix + FileName.shown(name), notTaken: reason))
            } else {
                files.append(prefix + String(decoding: name, as: UTF8.self))
            }
        }
    }

    /// Why an entry isn't imported; nil for a file that is.
    private static func reasonAgainst(_ name: [UInt8], in prefix: String) -> String? {
        guard let text = FileName.text(name) else {
            return "its name isn't UTF-8: import it as `tunnelctl import - --name NAME < FILE`"
        }
        var status = stat()
        if unsafe stat(prefix + text, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            return "it is a folder: import it by its own path"
        }
        if text.hasPrefix(".") { return "it is hidden: import it by its own path" }
        if ImportFile.isAppleProfile(text) { return "it is an Apple profile, which this version can't import yet" }
        return ImportFile.hasEnding(text) ? nil : "its name doesn't end in .conf"
    }
}
