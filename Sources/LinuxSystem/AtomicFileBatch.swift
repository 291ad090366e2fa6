import Glibc

/// New files of one folder that are made durable together: some hundred times as fast as one by one.
///
/// A crash leaves any of them, each whole; what goes before `commit` leaves none.
package struct AtomicFileBatch: ~Copyable {
    private let folder: String
    private let mode: UInt32
    private var names: [String] = []
    /// How many of the names have been given to their files.
    private var done = 0

    package init(in folder: String, mode: UInt32) {
        self.folder = folder
        self.mode = mode
    }

    deinit {
        for name in names.dropFirst(done) { _ = unsafe unlink("\(folder)/\(name)\(AtomicFile.temporarySuffix)") }
    }

    /// Writes a file under a temporary name.
    package mutating func add(_ bytes: [UInt8], as name: String) throws(SystemError) {
        let temporary = "\(folder)/\(name)\(AtomicFile.temporarySuffix)"
        let file = try AtomicFile.makeFile(temporary, mode)
        names.append(name)
        do throws(SystemError) {
            try AtomicFile.writeAll(unsafe bytes.span.bytes, to: file.raw)
        } catch {
            throw SystemError(error.code, call: "write(\(temporary))")
        }
        // Only a hint, for what `commit` waits for: Linux begins to write, so that the files share its journal's commits.
        _ = posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED)
    }

    /// Gives the files their names; once this has returned, all of them survive a power cut.
    ///
    /// - Parameter onFile: called after each file that is there.
    package consuming func commit(onFile: () -> Void = {}) throws(SystemError) {
        guard !names.isEmpty else { return }
        for name in names {
            let temporary = "\(folder)/\(name)\(AtomicFile.temporarySuffix)"
            let raw = unsafe open(temporary, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
            guard raw >= 0 else { throw SystemError(errno, call: "open(\(temporary))") }
            let file = OwnedDescriptor(adopting: raw)
            try AtomicFile.named("fsync", temporary) { fsync(file.raw) }
        }
        for name in names {
            let path = "\(folder)/\(name)"
            try AtomicFile.named("rename", path) { unsafe rename(path + AtomicFile.temporarySuffix, path) }
            done += 1
            onFile()
        }
        try AtomicFile.syncFolder(of: "\(folder)/")
    }
}
