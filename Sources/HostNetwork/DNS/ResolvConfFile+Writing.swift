import FoundationEssentials
import Glibc
import LinuxSystem

extension ResolvConfFile {
    func write(_ content: FileContent, over current: FileContent) throws(SystemError) {
        try FaultPoint.reach("write \(path)")
        switch content {
        case .missing: try named("unlink") { unsafe unlink(path) }
        case .link(let target):
            try replace { temporary throws(SystemError) in
                try named("symlink") { unsafe symlink(target, temporary) }
            }
        case .file(let file):
            do throws(SystemError) {
                try replace { temporary throws(SystemError) in try make(temporary, file) }
            } catch {
                // It is a mount, or in a folder that takes no other file: then it is the file itself that can be written.
                guard case .file(let old) = current, [EBUSY, EROFS, EACCES, EPERM, EXDEV].contains(error.code) else {
                    throw error
                }
                try overwrite(with: file.data, before: old.data.count)
            }
        }
    }

    private var temporary: String {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return "\(path[..<slash])/.\(path[path.index(after: slash)...]).tunneld"
    }

    /// Removes what a crash left of a write.
    func removeTemporary() { _ = unsafe unlink(temporary) }

    private func replace(_ make: (String) throws(SystemError) -> Void) throws(SystemError) {
        removeTemporary()
        do throws(SystemError) {
            try make(temporary)
            try FaultPoint.reach("rename \(path)")
            try named("rename") { unsafe rename(temporary, path) }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
    }

    private func make(_ temporary: String, _ file: FileContent.Regular) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let raw = unsafe open(temporary, flags, 0o600)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(temporary))") }
        let descriptor = OwnedDescriptor(adopting: raw)
        try AtomicFile.writeAll(unsafe Array(file.data).span.bytes, to: descriptor.raw)
        if file.user != geteuid() || file.group != getegid() {
            try named("fchown") { fchown(descriptor.raw, file.user, file.group) }
        }
        try named("fchmod") { fchmod(descriptor.raw, file.mode) }
    }

    /// Writes what is there anew without ever leaving it half: what is longer goes by blank lines first.
    private func overwrite(with data: Data, before count: Int) throws(SystemError) {
        let raw = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(path))") }
        let descriptor = OwnedDescriptor(adopting: raw)
        try FaultPoint.reach("overwrite \(path)")
        let blank = [UInt8](repeating: UInt8(ascii: "\n"), count: max(0, count - data.count))
        try AtomicFile.writeAll(unsafe (Array(data) + blank).span.bytes, to: descriptor.raw)
        try named("ftruncate") { ftruncate(descriptor.raw, data.count) }
    }

    private func named(_ call: String, _ body: () -> Int32) throws(SystemError) {
        do throws(SystemError) {
            try check("write", body)
        } catch {
            throw SystemError(error.code, call: "\(call)(\(path))")
        }
    }
}
