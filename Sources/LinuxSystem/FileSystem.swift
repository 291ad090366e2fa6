import Glibc

/// Small files and folders, read whole within a limit.
package enum FileSystem {
    /// The bytes of a file.
    ///
    /// - Throws: the failed call's error; `EFBIG` where the file holds more than `limit` bytes.
    package static func contents(ofFile path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let file = OwnedDescriptor(
            adopting: try check("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
        )
        return try contents(of: file, limit: limit)
    }

    /// What an open file or pipe has left to read.
    ///
    /// - Throws: as `contents(ofFile:limit:)`.
    package static func contents(of file: borrowing OwnedDescriptor, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        let raw = file.raw
        while true {
            let count = try check("read") {
                unsafe read(raw, &chunk, chunk.count)
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw SystemError(EFBIG, in: "read") }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// The names in a folder, without "." and "..", in no particular order.
    package static func names(inFolder path: String) throws(SystemError) -> [String] {
        guard let folder = unsafe opendir(path) else { throw SystemError(errno, in: "opendir") }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(folder) else {
                let code = errno
                if code != 0 { throw SystemError(code, in: "readdir") }
                return names
            }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }
}
