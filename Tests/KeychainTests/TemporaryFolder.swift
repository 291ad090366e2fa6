import Glibc
import LinuxSystem

/// A new folder that goes, with the keychain in it, when its owner does.
final class TemporaryFolder {
    let path: String

    init() {
        var template = Array("/tmp/keychain-XXXXXX".utf8CString)
        guard let path = unsafe mkdtemp(&template) else { preconditionFailure("mkdtemp: errno \(errno)") }
        unsafe self.path = String(cString: path)
    }

    deinit {
        for name in (try? FileSystem.names(inFolder: path + "/keychain")) ?? [] {
            _ = unsafe unlink("\(path)/keychain/\(name)")
        }
        _ = unsafe rmdir(path + "/keychain")
        _ = unsafe rmdir(path)
    }
}
