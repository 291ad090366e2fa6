import CShims
import Glibc

/// A memfd: bytes that travel between processes as a descriptor, and stand in no message.
///
/// A file once made is sealed, so that nobody who gets it can change it under another's eyes.
package enum MemoryFile {
    /// A sealed file of `count` bytes, which `fill` writes in place.
    ///
    /// - Parameter name: for /proc/<pid>/fd only.
    package static func make(
        name: String,
        count: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) throws(SystemError) -> OwnedDescriptor {
        let file = OwnedDescriptor(adopting: try checkShim("memfd_create") { unsafe shim_memfd_create(name) })
        let raw = file.raw
        try check("ftruncate") { ftruncate(raw, off_t(count)) }
        if count > 0 {
            guard let base = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, raw, 0),
                unsafe base != MAP_FAILED
            else { throw SystemError(errno, in: "mmap") }
            unsafe fill(UnsafeMutableRawBufferPointer(start: base, count: count))
            // A writable mapping would forbid the seal.
            unsafe munmap(base, count)
        } else {
            unsafe fill(UnsafeMutableRawBufferPointer(start: nil, count: 0))
        }
        try seal(raw)
        return file
    }

    /// A child between fork and exec has our mapping too, and then the kernel refuses for a moment.
    private static func seal(_ raw: Int32) throws(SystemError) {
        for attempt in 1... {
            do throws(SystemError) {
                try checkShim("fcntl(F_ADD_SEALS)") { shim_memfd_seal(raw) }
                return
            } catch {
                guard error.code == EBUSY, attempt < sealAttempts else { throw error }
                usleep(1000)
            }
        }
    }

    private static let sealAttempts = 1000

    /// Lends the bytes of a sealed file.
    ///
    /// - Throws: EBADF for what is no sealed memfd (its owner could change it meanwhile), EFBIG beyond `limit` bytes.
    package static func withContents<R>(
        of descriptor: Int32,
        limit: Int,
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        guard shim_memfd_is_sealed(descriptor) else { throw SystemError(EBADF, in: "fcntl(F_GET_SEALS)") }
        var status = stat()
        try check("fstat") { unsafe fstat(descriptor, &status) }
        guard status.st_size <= limit else { throw SystemError(EFBIG, in: "fstat") }
        guard status.st_size > 0 else { return try unsafe body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let count = Int(status.st_size)
        guard let base = unsafe mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), unsafe base != MAP_FAILED
        else { throw SystemError(errno, in: "mmap") }
        defer { unsafe munmap(base, count) }
        return try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }
}
