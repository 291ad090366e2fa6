import Glibc

/// A fixture file of hex fields.
///
/// `# comment` lines are skipped, `name = hex` starts a field, an indented line goes on with it, and an empty line ends a
/// record.
package struct HexFixture: Sendable {
    package typealias Record = [String: [UInt8]]

    package enum Failure: Error {
        case unreadable(String)
        case malformed(String, line: Int)
        case missing(String)
    }

    package let records: [Record]

    /// Reads `Fixtures/<name>` beside the calling test file.
    package init(_ name: String, beside file: String = #filePath) throws {
        let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let path = folder + "/Fixtures/" + name
        guard let text = Self.contents(of: path) else { throw Failure.unreadable(path) }
        try self.init(text: text, name: path)
    }

    init(text: String, name: String) throws {
        var records: [Record] = []
        var record: Record = [:]
        var field: String?
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.first == "#" { continue }
            if line.allSatisfy(\.isWhitespace) {
                if !record.isEmpty { records.append(record) }
                record = [:]
                field = nil
                continue
            }
            var digits = line[...]
            if line.first != " " {
                guard let equals = line.firstIndex(of: "=") else {
                    throw Failure.malformed(name, line: number + 1)
                }
                field = String(line[..<equals].filter { !$0.isWhitespace })
                digits = line[line.index(after: equals)...]
            }
            guard let key = field, let bytes = [UInt8](hex: digits) else {
                throw Failure.malformed(name, line: number + 1)
            }
            record[key, default: []] += bytes
        }
        if !record.isEmpty { records.append(record) }
        self.records = records
    }

    /// The bytes of a file; nil where it can't be read.
    package static func contents(ofBytesAt path: String) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { return nil }
            if count == 0 { return all }
            all += buffer[..<count]
        }
    }

    private static func contents(of path: String) -> String? {
        contents(ofBytesAt: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension [String: [UInt8]] {
    /// The bytes of a field that must be there.
    package func bytes(_ field: String) throws -> [UInt8] {
        guard let bytes = self[field] else { throw HexFixture.Failure.missing(field) }
        return bytes
    }
}

extension [UInt8] {
    /// Reads pairs of hex digits; spaces don't count.
    package init?(hex digits: some StringProtocol) {
        var bytes: [UInt8] = []
        var high: Int?
        for character in digits where !character.isWhitespace {
            guard let value = character.hexDigitValue else { return nil }
            if let first = high {
                bytes.append(UInt8(first << 4 | value))
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { return nil }
        self = bytes
    }

    /// Two lower-case digits for each byte.
    package var hex: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension [UInt8] {
    /// The bytes as the modules' functions take them.
    package var raw: RawSpan {
        @_lifetime(borrow self)
        get { unsafe span.bytes }
    }
}
