import Glibc

/// When a file was last written, and how large it is: enough to tell whether somebody changed it.
package struct FileStamp: Equatable, Sendable {
    package let seconds: Int
    package let nanoseconds: Int
    package let size: Int

    /// Of the file itself, not of what a link leads to.
    package init(of path: String) throws(SystemError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw SystemError(errno, call: "lstat(\(path))") }
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
        size = Int(status.st_size)
    }

    /// Gives another file this time.
    package func apply(to path: String) throws(SystemError) {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        let times = [time, time]
        guard unsafe utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemError(errno, call: "utimensat(\(path))")
        }
    }
}
