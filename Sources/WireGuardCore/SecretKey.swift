/// 32 secret bytes: a private or pre-shared key, a chaining key, a session key.
///
/// They stand in one place in memory (`SecretMemory`), which is wiped when the last owner goes, and have no printable form.
@safe package final class SecretKey: @unchecked Sendable {
    // @unchecked: the bytes are written by init alone; afterwards they are only read.
    private let pointer: UnsafeMutableRawPointer
    /// What the place was taken from.
    private let memory: SecretMemory

    package static let byteCount = 32

    /// Calls `fill` with 32 zero bytes to be filled in.
    package init(_ fill: (inout MutableRawSpan) -> Void) {
        memory = unsafe SecretMemory.current
        unsafe pointer = memory.allocate(Self.byteCount)
        var bytes = unsafe MutableRawSpan(_unsafeStart: pointer, byteCount: Self.byteCount)
        fill(&bytes)
    }

    /// Copies 32 bytes; nil for any other count.
    package convenience init?(copying bytes: RawSpan) {
        guard bytes.byteCount == Self.byteCount else { return nil }
        self.init { target in
            for offset in 0..<Self.byteCount {
                target.storeBytes(of: bytes[byteAt: offset], toByteOffset: offset, as: UInt8.self)
            }
        }
    }

    /// 32 random bytes.
    package convenience init(random: inout some RandomNumberGenerator) {
        self.init { target in
            for offset in stride(from: 0, to: Self.byteCount, by: 8) {
                target.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
            }
        }
    }

    deinit { unsafe memory.free(pointer, SecretKey.byteCount) }

    /// The bytes, as long as an owner lives.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(RawSpan(_unsafeStart: pointer, byteCount: Self.byteCount), borrowing: self) }
    }

    /// Whether both hold the same bytes, in a time that doesn't depend on them.
    package func isEqual(to other: SecretKey) -> Bool { areEqual(bytes, other.bytes) }

    /// Whether all bytes are zero: the pre-shared key that stands for none.
    package var isZero: Bool {
        var sum: UInt8 = 0
        for offset in 0..<Self.byteCount { sum |= bytes[byteAt: offset] }
        return sum == 0
    }

    /// The pre-shared key of a peer that has none (whitepaper, section 5.2).
    package static let zero = SecretKey { _ in }
}

/// Overwrites memory with zeros, also where the compiler can see that nobody reads it again: it may not look into here.
@inline(never) @_optimize(none)
package func wipeMemory(_ pointer: UnsafeMutableRawPointer, count: Int) {
    for offset in 0..<count { unsafe pointer.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
}

/// Compares in a time that depends on the lengths alone.
@inline(never)
func areEqual(_ a: RawSpan, _ b: RawSpan) -> Bool {
    guard a.byteCount == b.byteCount else { return false }
    var difference: UInt8 = 0
    for offset in 0..<a.byteCount { difference |= a[byteAt: offset] ^ b[byteAt: offset] }
    return difference == 0
}

extension RawSpan {
    /// The byte at a place that must be inside.
    subscript(byteAt offset: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) }
}

extension [UInt8] {
    /// The bytes as cryptographic functions take them.
    var raw: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }
}
