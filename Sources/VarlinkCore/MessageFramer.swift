/// Cuts a stream of bytes into messages, each ended by a NUL byte.
///
/// Source: https://varlink.org/Method-Call ("encoded as JSON objects and terminated with a single NUL byte").
package struct MessageFramer: Sendable {
    /// The longest message, in bytes without its NUL.
    package let limit: Int
    private var buffer: [UInt8] = []
    /// Where the first message that wasn't handed out begins.
    private var start = 0
    /// Before this there is no NUL after `start`.
    private var scanned = 0
    private var failed = false
    /// Bytes of the stream before `start`, so that other things which came with the stream can be placed in it.
    package private(set) var consumedBytes: UInt64 = 0

    /// - Parameter limit: 4 MiB is the longest request that tunneld takes.
    package init(limit: Int = 4 << 20) { self.limit = limit }

    /// Bytes held: whole messages that weren't taken and a last one still incomplete.
    package var bufferedBytes: Int { buffer.count - start }

    /// Takes bytes in.
    ///
    /// After a failure they are dropped.
    ///
    /// Nothing bounds what is appended before `next` is called: read in small pieces.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if !failed { buffer.append(contentsOf: bytes) }
    }

    /// The next whole message without its NUL, or nil until more bytes come.
    ///
    /// - Throws: `tooLong`; the same again whenever it is called afterwards.
    package mutating func next() throws(MessageError) -> [UInt8]? {
        if failed { throw .tooLong(limit: limit) }
        guard let end = buffer[scanned...].firstIndex(of: 0) else {
            scanned = buffer.count
            if bufferedBytes > limit { try fail() }
            compact()
            return nil
        }
        if end - start > limit { try fail() }
        let message = Array(buffer[start..<end])
        consumedBytes += UInt64(end + 1 - start)
        start = end + 1
        scanned = start
        compact()
        return message
    }

    private mutating func fail() throws(MessageError) {
        failed = true
        buffer = []
        start = 0
        scanned = 0
        throw .tooLong(limit: limit)
    }

    /// Gives memory back, at a cost that stays below that of having appended the bytes.
    private mutating func compact() {
        guard start > 0 else { return }
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 4096)
        } else if start > buffer.count / 2 {
            buffer.removeSubrange(..<start)
        } else {
            return
        }
        scanned -= start
        start = 0
    }
}
