import Glibc

/// Writes files so that a crash at any point leaves the old one or the new one whole.
package enum AtomicFile {
    /// The name that a file has while it is written; what a crash leaves under it may be removed.
    package static let temporarySuffix = ".new"

    /// What a write has just done: the points at which a crash finds different things on the disk.
    package enum Step: CaseIterable, Sendable { case made, written, synced, renamed, durable }

    /// Replaces the file, or makes it: temporary file, fsync, rename, fsync of the folder.
    ///
    /// Once this has returned, the contents survive a power cut.
    ///
    /// - Parameter onStep: called after each step.
    package static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32,
        onStep: (Step) -> Void = { _ in }
    ) throws(SystemError) {
        try write(to: path, mode: mode, onStep: onStep) { file throws(SystemError) in
            try writeAll(unsafe bytes.span.bytes, to: file)
        }
    }

    /// The same for contents that `fill` writes to the descriptor it gets.
    package static func write(
        to path: String,
        mode: UInt32,
        onStep: (Step) -> Void = { _ in },
        fill: (Int32) throws(SystemError) -> Void
    ) throws(SystemError) {
        let temporary = path + temporarySuffix
        do throws(SystemError) {
            try FaultPoint.reach("write \(path)")
            let file = try makeFile(temporary, mode)
            onStep(.made)
            do throws(SystemError) {
                try fill(file.raw)
            } catch {
                // Which file it was is worth more than which call.
                throw SystemError(error.code, call: "write(\(temporary))")
            }
            onStep(.written)
            try named("fsync", temporary) { fsync(file.raw) }
            onStep(.synced)
            try FaultPoint.reach("rename \(path)")
            try named("rename", path) { unsafe rename(temporary, path) }
            onStep(.renamed)
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        try syncFolder(of: path)
        onStep(.durable)
    }

    /// Makes a temporary file.
    static func makeFile(_ temporary: String, _ mode: UInt32) throws(SystemError) -> OwnedDescriptor {
        // A file that a crash left may have another mode or owner.
        if unsafe unlink(temporary) != 0, errno != ENOENT { throw SystemError(errno, call: "unlink(\(temporary))") }
        let raw = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(temporary))") }
        return OwnedDescriptor(adopting: raw)
    }

    /// Gives a file or folder another name, in the same folder or another one, for good.
    package static func move(_ path: String, to new: String) throws(SystemError) {
        try named("rename", new) { unsafe rename(path, new) }
        try syncFolder(of: new)
        try syncFolder(of: path)
    }

    /// Removes the file for good; one that isn't there is no error.
    package static func remove(_ path: String) throws(SystemError) {
        try FaultPoint.reach("remove \(path)")
        if unsafe unlink(path) != 0, errno != ENOENT { throw SystemError(errno, call: "unlink(\(path))") }
        try syncFolder(of: path)
    }

    /// Removes files of one folder for good, as far as that can be done; those that aren't there are no error.
    ///
    /// - Parameter onFile: called after each file that is gone.
    /// - Throws: the first error.
    package static func remove(
        _ names: some Sequence<String>,
        in folder: String,
        onFile: () -> Void = {}
    ) throws(SystemError) {
        var failure: SystemError?
        for name in names {
            if unsafe unlink("\(folder)/\(name)") == 0 || errno == ENOENT {
                onFile()
            } else {
                failure = failure ?? SystemError(errno, call: "unlink(\(folder)/\(name))")
            }
        }
        do throws(SystemError) {
            try syncFolder(of: "\(folder)/")
        } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// Removes what crashes left of writes in a folder that nobody else writes to now.
    package static func removeTemporaryFiles(in folder: String) throws(SystemError) {
        let names = try FileSystem.names(inFolder: folder).filter { $0.hasSuffix(temporarySuffix) }
        if !names.isEmpty { try remove(names, in: folder) }
    }

    /// Writes all the bytes.
    package static func writeAll(_ bytes: RawSpan, to raw: Int32) throws(SystemError) {
        var done = 0
        while done < bytes.byteCount {
            done += try unsafe bytes.withUnsafeBytes { buffer throws(SystemError) in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
                return try check("write") { unsafe Glibc.write(raw, rest.baseAddress, rest.count) }
            }
        }
    }

    /// Makes the names in a path's folder survive a power cut.
    package static func syncFolder(of path: String) throws(SystemError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let raw = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(folder))") }
        let descriptor = OwnedDescriptor(adopting: raw)
        try named("fsync", folder) { fsync(descriptor.raw) }
    }

    static func named(_ call: String, _ path: String, _ body: () -> Int32) throws(SystemError) {
        do throws(SystemError) {
            try check("write", body)
        } catch {
            throw SystemError(error.code, call: "\(call)(\(path))")
        }
    }
}
