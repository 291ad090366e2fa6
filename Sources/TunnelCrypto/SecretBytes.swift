import CSodium

/// Secret bytes with one owner, in the process's arena for secrets (`SecretArena`), wiped when the owner goes.
///
/// There is no printable form.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
    // @unchecked: the memory has one owner; nobody changes it through a borrowed value.
    private let pointer: UnsafeMutableRawPointer
    package let count: Int

    /// Memory of `count` zero bytes.
    package init(zeroCount count: Int) {
        precondition(count >= 0 && CryptoLibraries.isSodiumReady, "libsodium could not be started")
        unsafe pointer = SecretArena.shared.allocate(byteCount: count)
        self.count = count
    }

    /// A copy; wiping the original is its owner's business.
    package init(copying bytes: RawSpan) {
        self.init(zeroCount: bytes.byteCount)
        let pointer = unsafe pointer
        unsafe bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            unsafe pointer.copyMemory(from: base, byteCount: source.count)
        }
    }

    /// New random bytes.
    package init(randomCount count: Int) {
        self.init(zeroCount: count)
        unsafe randombytes_buf(pointer, count)
    }

    deinit { unsafe SecretArena.shared.free(pointer, byteCount: count) }

    /// The bytes, as long as the owner lives.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(RawSpan(_unsafeStart: pointer, byteCount: count), borrowing: self) }
    }

    /// Lends the address of the bytes, for a library that reads them.
    borrowing func withAddress<R>(_ body: (UnsafeRawPointer) -> R) -> R { unsafe body(UnsafeRawPointer(pointer)) }

    /// Lends the bytes for a change.
    package mutating func withMutableBytes<R>(_ body: (inout MutableRawSpan) -> R) -> R {
        var bytes = unsafe MutableRawSpan(_unsafeStart: pointer, byteCount: count)
        return body(&bytes)
    }

    /// A second owner with memory of its own.
    package borrowing func copy() -> SecretBytes { SecretBytes(copying: bytes) }

    /// Whether both hold the same bytes, in a time that depends on nothing but the length.
    package borrowing func isEqual(to other: RawSpan) -> Bool { ConstantTime.areEqual(bytes, other) }
}
