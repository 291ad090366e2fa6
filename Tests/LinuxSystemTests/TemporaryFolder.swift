import Glibc
import LinuxSystem

/// A new folder that goes, with the files in it, when its owner does.
final class TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/linuxsystem-XXXXXX".utf8CString)
        guard let path = unsafe mkdtemp(&template) else { preconditionFailure("mkdtemp: errno \(errno)") }
        unsafe self.path = String(cString: path)
    }

    deinit { try? FolderRemoval.remove(path) }
}
