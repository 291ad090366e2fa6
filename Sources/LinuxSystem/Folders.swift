import Glibc

/// Makes a folder and those above it where they are missing; what is there keeps its mode, for it may be another's.
package func makeFolders(to path: String, mode: UInt32) throws(SystemError) {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(ENOTDIR, call: "mkdir(\(path))") }
        return
    }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
        try makeFolders(to: String(path[..<slash]), mode: 0o755)
    }
    try makeFolder(path, mode: mode)
}

/// Makes a folder, with exactly this mode, or leaves the one that is there, and gives it the mode.
package func makeFolder(_ path: String, mode: UInt32) throws(SystemError) {
    try FaultPoint.reach("make folder \(path)")
    if unsafe mkdir(path, mode) != 0 {
        let code = errno
        guard code == EEXIST else { throw SystemError(code, call: "mkdir(\(path))") }
    }
    // Where it has the mode, a file system that is read-only is no reason to do without the folder.
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & 0o7777 == mode { return }
    if unsafe chmod(path, mode) != 0 { throw SystemError(errno, call: "chmod(\(path))") }
}
