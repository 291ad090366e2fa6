import Glibc
import LinuxSystem

/// A new folder that goes, with everything in it, when its owner does.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/controldaemon-XXXXXX".utf8CString)
        guard let path = unsafe mkdtemp(&template) else { preconditionFailure("mkdtemp: errno \(errno)") }
        unsafe self.path = String(cString: path)
        // Providers walk through it.
        _ = unsafe chmod(self.path, 0o755)
    }

    deinit { try? FolderRemoval.remove(path) }
}
