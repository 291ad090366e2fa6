/// Why a datagram is no transport message.
package enum PacketError: Error, Hashable, Sendable {
    case truncated(need: Int, have: Int)
    case wrongType(UInt32)
}

/// Header of a transport data message: type 4, 16 bytes, little endian, then ciphertext and a 16-byte tag.
///
/// Source: WireGuard whitepaper, section 5.4.6.
package struct TransportHeader: Hashable, Sendable {
    /// The index that the receiving end chose for the session.
    package let receiver: UInt32
    package let counter: UInt64
    /// Bytes after opening; 0 for a keepalive.
    package let plaintextLength: Int

    package static var byteCount: Int { @_noAllocation @_noLocks get { 16 } }
    package static var tagSize: Int { @_noAllocation @_noLocks get { 16 } }

    /// Reads the header of a whole datagram.
    ///
    /// - Throws: `truncated` below 32 bytes; `wrongType` unless the first four bytes are 4, 0, 0, 0.
    @_noAllocation @_noLocks
    package init(parsing datagram: borrowing MutableRawSpan) throws(PacketError) {
        let count = datagram.byteCount
        guard count >= Self.byteCount + Self.tagSize else {
            throw .truncated(need: Self.byteCount + Self.tagSize, have: count)
        }
        let type = UInt32(littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
        guard type == 4 else { throw .wrongType(type) }
        receiver = UInt32(littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self))
        counter = UInt64(littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self))
        plaintextLength = count - Self.byteCount - Self.tagSize
    }

    /// Writes a header into the first 16 bytes of a buffer that must have them.
    @_noAllocation @_noLocks
    package static func write(receiver: UInt32, counter: UInt64, into buffer: inout MutableRawSpan) {
        buffer.storeBytes(of: UInt32(4).littleEndian, toByteOffset: 0, as: UInt32.self)
        buffer.storeBytes(of: receiver.littleEndian, toByteOffset: 4, as: UInt32.self)
        buffer.storeBytes(of: counter.littleEndian, toByteOffset: 8, as: UInt64.self)
    }
}
