import Glibc

/// Small files and folders, read whole within a limit.
package enum FileSystem {
    /// The bytes of a regular file; a pipe or a device in its place, which could keep the reader waiting, is an error.
    ///
    /// - Throws: the failed call's error; `EFBIG` where the file holds more than `limit` bytes.
    package static func contents(ofFile path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = OwnedDescriptor(
            adopting: try check("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        )
        var status = stat()
        try check("fstat") { unsafe fstat(file.raw, &status) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return try contents(of: file, limit: limit)
        case S_IFDIR: throw SystemError(EISDIR, in: "read")
        default: throw SystemError(EINVAL, in: "open, which found no regular file")
        }
    }

    /// What an open file or pipe has left to read.
    ///
    /// - Throws: as `contents(ofFile:limit:)`.
    package static func contents(of file: borrowing OwnedDescriptor, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        let raw = file.raw
        while true {
            let count: Int
            do throws(SystemError) {
                count = try check("read") { unsafe read(raw, &chunk, chunk.count) }
            } catch  where error.code == EAGAIN {
                // A terminal or pipe that another program left nonblocking.
                var request = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&request, 1, -1)
                continue
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw SystemError(EFBIG, in: "read") }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// The names in a folder, without "." and "..", in no particular order.
    ///
    /// A name that isn't UTF-8 comes with replacement characters, under which nothing is found: see `rawNames`.
    package static func names(inFolder path: String) throws(SystemError) -> [String] {
        try rawNames(inFolder: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The same as the bytes that the file system has.
    package static func rawNames(inFolder path: String) throws(SystemError) -> [[UInt8]] {
        guard let folder = unsafe opendir(path) else { throw SystemError(errno, call: "opendir(\(path))") }
        defer { unsafe closedir(folder) }
        let dot = UInt8(ascii: ".")
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(folder) else {
                let code = errno
                if code != 0 { throw SystemError(code, in: "readdir") }
                return names
            }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe Array(bytes.prefix { $0 != 0 })
            }
            if name != [dot], name != [dot, dot] { names.append(name) }
        }
    }
}
