import CCrypto
import Glibc

extension CryptoLibraries {
    /// Has libcrypto wipe all memory that it gives back, where it would wipe only what it knows to be secret: the data of
    /// an identity pass through its buffers.
    ///
    /// Only before libcrypto is used first, and for a process that doesn't encrypt packets, for each wiping costs time.
    ///
    /// - Returns: whether libcrypto took it.
    @discardableResult
    package static func wipeFreedMemory() -> Bool {
        unsafe CRYPTO_set_mem_functions(
            { size, _, _ in unsafe malloc(size) },
            { old, size, _, _ in
                guard let old = unsafe old else { return unsafe malloc(size) }
                let former = unsafe malloc_usable_size(old)
                if size > 0, size <= former { return unsafe old }
                let new = size > 0 ? unsafe malloc(size) : nil
                if size > 0, unsafe new == nil { return nil }
                if let new = unsafe new { unsafe memcpy(new, old, min(size, former)) }
                unsafe explicit_bzero(old, former)
                unsafe free(old)
                return unsafe new
            },
            { old, _, _ in
                guard let old = unsafe old else { return }
                unsafe explicit_bzero(old, malloc_usable_size(old))
                unsafe free(old)
            }
        ) == 1
    }
}
