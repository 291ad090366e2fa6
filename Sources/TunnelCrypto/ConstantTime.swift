import CSodium

/// Comparison that takes the same time wherever two secrets differ.
package enum ConstantTime {
    /// Whether both hold the same bytes; lengths are no secret.
    package static func areEqual(_ a: RawSpan, _ b: RawSpan) -> Bool {
        guard a.byteCount == b.byteCount else { return false }
        return unsafe a.withUnsafeBytes { a in
            unsafe b.withUnsafeBytes { b in
                guard let left = a.baseAddress, let right = b.baseAddress else { return true }
                return unsafe sodium_memcmp(left, right, a.count) == 0
            }
        }
    }
}
