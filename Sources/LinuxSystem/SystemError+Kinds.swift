import Glibc

extension SystemError {
    /// There is no such file, or no folder on the way to it.
    package var isAbsentFile: Bool { code == ENOENT || code == ENOTDIR }
}
