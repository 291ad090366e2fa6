/// The lines of a file, ended by LF, CR LF or CR, whichever comes; the last one needs no end.
struct FileLines: Sequence, IteratorProtocol {
    struct Line {
        /// From 1.
        let number: Int
        /// Without its end; its indices are those of the file.
        let bytes: ArraySlice<UInt8>
    }

    private let bytes: [UInt8]
    private var position: Int
    private var number = 0

    /// - Parameter start: 3 to leave out a byte order mark.
    init(of bytes: [UInt8], from start: Int) {
        self.bytes = bytes
        position = start
    }

    mutating func next() -> Line? {
        guard position < bytes.count else { return nil }
        let lineFeed = UInt8(ascii: "\n")
        let carriageReturn = UInt8(ascii: "\r")
        let start = position
        while position < bytes.count, bytes[position] != lineFeed, bytes[position] != carriageReturn { position += 1 }
        let line = bytes[start..<position]
        if position < bytes.count {
            let isPair =
                bytes[position] == carriageReturn && position + 1 < bytes.count && bytes[position + 1] == lineFeed
            position += isPair ? 2 : 1
        }
        number += 1
        return Line(number: number, bytes: line)
    }
}
