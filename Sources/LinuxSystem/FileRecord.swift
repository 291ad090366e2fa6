import Glibc

/// A file that we made, told from any other that has its path by now.
package struct FileRecord: Codable, Equatable, Sendable {
    package let path: String
    let device: UInt64
    let inode: UInt64
    /// Nanoseconds of the last change: the number of an inode is used again.
    let changed: Int64
    /// Whether its folder was made for it.
    package let madeFolder: Bool

    /// The file that is there now; nil where there is none.
    package init?(_ path: String, madeFolder: Bool) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        self.madeFolder = madeFolder
    }

    /// Whether the path still leads to the file.
    package var isThere: Bool { FileRecord(path, madeFolder: madeFolder) == self }

    /// Removes the file, if it is still ours, and the folder, if it was ours and is empty.
    ///
    /// - Returns: whether the file was there, and is gone now.
    @discardableResult
    package func remove() -> Bool {
        guard (try? FaultPoint.reach("remove \(path)")) != nil else { return false }
        let isRemoved = unsafe isThere && unlink(path) == 0
        if madeFolder, let slash = path.lastIndex(of: "/") { _ = unsafe rmdir(String(path[..<slash])) }
        return isRemoved
    }
}
