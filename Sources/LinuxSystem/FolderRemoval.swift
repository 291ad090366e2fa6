import Glibc

/// Removes a folder with everything in it, following no link: its contents may be another user's work.
package enum FolderRemoval {
    /// Deeper than anything of ours; beyond it the removal fails.
    private static let depthLimit = 16

    /// A folder that isn't there is no error.
    package static func remove(_ path: String) throws(SystemError) {
        try FaultPoint.reach("remove folder \(path)")
        let (parent, name) = split(path)
        let raw = unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else {
            if errno == ENOENT { return }
            throw SystemError(errno, call: "open(\(parent))")
        }
        let folder = OwnedDescriptor(adopting: raw)
        try remove(name, in: folder.raw, depth: 0)
    }

    private static func remove(_ name: String, in folder: Int32, depth: Int) throws(SystemError) {
        if unsafe unlinkat(folder, name, 0) == 0 || errno == ENOENT { return }
        guard errno == EISDIR || errno == EPERM else { throw SystemError(errno, call: "unlink(\(name))") }
        guard depth < depthLimit else { throw SystemError(ELOOP, call: "unlink(\(name))") }
        let raw = unsafe openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(name))") }
        let inner = OwnedDescriptor(adopting: raw)
        // By the descriptor, so that the names are this folder's even if its own name leads elsewhere by now.
        for child in try FileSystem.names(inFolder: "/proc/self/fd/\(inner.raw)") {
            try remove(child, in: inner.raw, depth: depth + 1)
        }
        if unsafe unlinkat(folder, name, AT_REMOVEDIR) != 0, errno != ENOENT {
            throw SystemError(errno, call: "rmdir(\(name))")
        }
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
}
