import Glibc

extension SystemError {
    /// What to do where a file or folder can't be made, read or written, by what the system says.
    ///
    /// - Parameters:
    ///   - place: what it is about: "the state directory /var/lib/tunneld".
    ///   - other: another way out: "name another in STATE_DIRECTORY"; nil for none.
    package func fileRemedy(_ place: String, or other: String? = nil) -> String {
        let first =
            switch code {
            case EROFS: "Make the file system of \(place) writable: it is mounted read-only"
            case ENOSPC: "Make room on the file system of \(place): it is full"
            case EDQUOT: "Make room for \(place): the quota is used up"
            case EIO: "Look into the kernel's log (dmesg): the disk of \(place) reports errors"
            case ENOENT: "Make what is missing above \(place)"
            case ENOTDIR, EISDIR, EEXIST: "Move what is in the way of \(place): it is of another kind"
            case ELOOP: "Mend the symbolic links that lead to \(place): they go in a circle"
            case ENAMETOOLONG: "Use a shorter path for \(place)"
            case EMFILE, ENFILE: "Raise the limit of open files (ulimit -n, LimitNOFILE=): it is used up"
            case ENOMEM: "Free memory: there is none left"
            case EACCES, EPERM: forbidden(place)
            default: "Look at \(place) and at what the reason says"
            }
        return first + (other.map { ", or \($0)" } ?? "") + "."
    }

    private func forbidden(_ place: String) -> String {
        geteuid() != 0
            ? "Run it as root, or let this user write to \(place)"
            : "Look at owner, mode and flags of \(place) (ls -ld, lsattr -d), and at what a security module or the "
                + "service's unit denies: not even root may use it"
    }
}
