/// Cuts what a client of the device socket sends into operations: each ends with an empty line.
package struct OperationReader: ~Copyable {
    /// Room offered to each read.
    private static let chunk = 16 << 10

    private var buffer = WipedBuffer(capacity: 1024)
    /// Everything before it is known to hold no end.
    private var searched = 0

    package init() {}

    /// Lends room for one read; see `WipedBuffer.fill`.
    package mutating func fill<E>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) {
        try unsafe buffer.fill(room: Self.chunk, body)
    }

    /// The next whole operation; nil until more has been read.
    ///
    /// - Throws: what to answer to this operation; `tooLarge` and `malformed` spoil the connection, since what follows
    ///   can't be told apart.
    package mutating func next(zone: (String) -> UInt32?) throws(OperationError) -> DeviceOperation? {
        guard let end = endOfOperation() else {
            if buffer.count > DeviceOperation.maximumBytes { throw .tooLarge }
            return nil
        }
        guard end <= DeviceOperation.maximumBytes else { throw .tooLarge }
        defer {
            buffer.removeFirst(end + 1)
            searched = 0
        }
        // The last line keeps its end, the empty line behind it is not handed on.
        return try DeviceOperation(parsing: buffer.bytes.extracting(first: end), zone: zone)
    }

    /// Where the line feed of the empty line stands.
    private mutating func endOfOperation() -> Int? {
        let end = Self.emptyLine(in: buffer.bytes, from: searched)
        if end == nil { searched = buffer.count }
        return end
    }

    private static func emptyLine(in bytes: RawSpan, from start: Int) -> Int? {
        let lineFeed = UInt8(ascii: "\n")
        for index in start..<max(bytes.byteCount, start) {
            guard unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) == lineFeed else { continue }
            if unsafe index == 0 || bytes.unsafeLoad(fromByteOffset: index - 1, as: UInt8.self) == lineFeed {
                return index
            }
        }
        return nil
    }
}
