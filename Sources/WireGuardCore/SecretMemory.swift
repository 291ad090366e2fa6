/// Where secret keys stand: what a program lends this module, which can't lock memory itself.
@safe package struct SecretMemory: Sendable {
    /// Zero bytes for one key, aligned to 16.
    let allocate: @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer
    /// Wipes them and takes them back.
    let free: @Sendable (_ pointer: UnsafeMutableRawPointer, _ byteCount: Int) -> Void

    package init(
        allocate: @escaping @Sendable (_ byteCount: Int) -> UnsafeMutableRawPointer,
        free: @escaping @Sendable (_ pointer: UnsafeMutableRawPointer, _ byteCount: Int) -> Void
    ) {
        unsafe self.allocate = allocate
        unsafe self.free = free
    }

    /// Has all keys that are made from now on stand in this memory.
    ///
    /// A program calls it once, before its second thread.
    package static func use(_ memory: SecretMemory) { unsafe current = memory }

    /// Written before there is a second thread, read afterwards.
    nonisolated(unsafe) private(set) static var current = unsafe SecretMemory(
        allocate: { byteCount in
            let pointer = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
            unsafe pointer.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
            return unsafe pointer
        },
        free: { pointer, byteCount in
            unsafe wipeMemory(pointer, count: byteCount)
            unsafe pointer.deallocate()
        }
    )
}
