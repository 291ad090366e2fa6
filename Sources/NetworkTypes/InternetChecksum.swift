/// Sums for the Internet checksum (RFC 1071).
///
/// A sum is over 16-bit words as they lie in memory, not yet folded, so the same code serves either byte order
/// (RFC 1071, section 2 (B)): a number enters it as `bigEndian`, and what `fold` gives is stored as it is.
package enum InternetChecksum {
    /// Adds bytes to a sum; an odd last byte counts as if a zero followed.
    ///
    /// The bytes stand at an even offset of what is summed.
    package static func sum(_ bytes: borrowing RawSpan, adding start: UInt64 = 0) -> UInt64 {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return start }
            return unsafe sum(base, count: buffer.count, adding: start)
        }
    }

    /// The same over raw memory, for the packet loop.
    package static func sum(_ bytes: UnsafeRawPointer, count: Int, adding start: UInt64 = 0) -> UInt64 {
        // Halves of 64-bit words are summed apart: no carry is lost within 2^32 words.
        var low = SIMD4<UInt64>.zero
        var high = SIMD4<UInt64>.zero
        let mask = SIMD4<UInt64>(repeating: 0xffff_ffff)
        var offset = 0
        while offset &+ 32 <= count {
            let words = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            low &+= words & mask
            high &+= words &>> 32
            offset &+= 32
        }
        let sum = start &+ low.wrappedSum() &+ high.wrappedSum()
        return unsafe tail(bytes, from: offset, count: count, adding: sum)
    }

    /// Copies bytes and adds them to a sum in one pass.
    package static func copy(
        _ bytes: UnsafeRawPointer,
        count: Int,
        to destination: UnsafeMutableRawPointer,
        adding start: UInt64
    ) -> UInt64 {
        var low = SIMD4<UInt64>.zero
        var high = SIMD4<UInt64>.zero
        let mask = SIMD4<UInt64>(repeating: 0xffff_ffff)
        var offset = 0
        while offset &+ 32 <= count {
            let words = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
            unsafe destination.storeBytes(of: words, toByteOffset: offset, as: SIMD4<UInt64>.self)
            low &+= words & mask
            high &+= words &>> 32
            offset &+= 32
        }
        let sum = start &+ low.wrappedSum() &+ high.wrappedSum()
        unsafe (destination + offset).copyMemory(from: bytes + offset, byteCount: count &- offset)
        return unsafe tail(bytes, from: offset, count: count, adding: sum)
    }

    /// The last, less than 32, bytes.
    private static func tail(_ bytes: UnsafeRawPointer, from start: Int, count: Int, adding partial: UInt64) -> UInt64 {
        var sum = partial
        var offset = start
        while offset &+ 4 <= count {
            sum &+= UInt64(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            offset &+= 4
        }
        if offset &+ 2 <= count {
            sum &+= UInt64(unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            offset &+= 2
        }
        if offset < count {
            sum &+= UInt64(UInt16(unsafe bytes.load(fromByteOffset: offset, as: UInt8.self)).littleEndian)
        }
        return sum
    }

    /// The sum in 16 bits, in memory order, not complemented.
    package static func fold(_ sum: UInt64) -> UInt16 {
        var sum = (sum & 0xffff_ffff) &+ (sum &>> 32)
        sum = (sum & 0xffff) &+ (sum &>> 16)
        sum = (sum & 0xffff) &+ (sum &>> 16)
        sum = (sum & 0xffff) &+ (sum &>> 16)
        return UInt16(truncatingIfNeeded: sum)
    }

    /// What a checksum field holds for a sum, in memory order.
    package static func finish(_ sum: UInt64) -> UInt16 { ~fold(sum) }

    /// The same for UDP, where 0 would mean "no checksum" (RFC 768).
    package static func finishUDP(_ sum: UInt64) -> UInt16 {
        let field = finish(sum)
        return field == 0 ? 0xffff : field
    }
}
