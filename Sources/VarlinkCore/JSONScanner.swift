import FoundationEssentials

/// Walks over JSON without making values of it: checks it, bounds it, and finds where the members of an object stand.
///
/// A decoder runs afterwards, on text that is known to be JSON of a bearable depth and size.
///
/// Source: RFC 8259.
package struct JSONScanner {
    /// How deeply a message may be nested.
    package static let depthLimit = 64
    /// How many values (keys not counted) a message may hold: a decoder needs up to some microseconds for each.
    package static let valueLimit = 100_000

    /// A string, number, boolean or null: where it stands, and how one gets there: "peers[2].port".
    struct Scalar: Equatable {
        let path: String
        let range: Range<Int>
    }

    private enum Kind { case object, array }

    /// A container that isn't closed yet, and the member or element that is being read.
    private struct Container {
        let kind: Kind
        var key = 0..<0
        var index = 0
    }

    private let bytes: [UInt8]
    private var position = 0
    private var values = 0
    private var scalars: [Scalar] = []
    /// How many scalars are to be noted.
    private var scalarLimit = 0

    /// - Throws: `notUTF8` with the offset.
    package init(_ bytes: [UInt8]) throws(MessageError) {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
        } catch {
            throw .notUTF8(at: error.byteOffsets.lowerBound)
        }
        self.bytes = bytes
    }

    /// Finds the members of the object that the whole text is: the ranges of the key (with its quotes) and of the value.
    package mutating func members() throws(MessageError) -> [(key: Range<Int>, value: Range<Int>)] {
        var found: [(key: Range<Int>, value: Range<Int>)] = []
        skipSpace()
        try take(UInt8(ascii: "{"), expected: "an object")
        skipSpace()
        if peek != UInt8(ascii: "}") {
            repeat {
                let key = try scanKey()
                let begin = position
                try skipValue(of: key)
                found.append((key, begin..<position))
                skipSpace()
            } while takeComma()
        }
        try take(UInt8(ascii: "}"), expected: "a comma or the end of the object")
        skipSpace()
        guard position == bytes.count else { throw .malformed(at: position, expected: "the end of the message") }
        return found
    }

    /// The first scalars of the object that the whole text is, in their order.
    mutating func firstScalars(_ limit: Int) throws(MessageError) -> [Scalar] {
        scalarLimit = limit
        _ = try members()
        return scalars
    }

    private mutating func skipValue(of key: Range<Int>) throws(MessageError) {
        var open = [Container(kind: .object, key: key)]
        while true {
            values += 1
            guard values <= Self.valueLimit else { throw .tooManyValues(limit: Self.valueLimit) }
            var isOpen = false
            let begin = position
            switch peek {
            case UInt8(ascii: "{"): isOpen = try enter(.object, &open)
            case UInt8(ascii: "["): isOpen = try enter(.array, &open)
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "t"): try skip(literal: "true")
            case UInt8(ascii: "f"): try skip(literal: "false")
            case UInt8(ascii: "n"): try skip(literal: "null")
            default: try skipNumber()
            }
            if isOpen { continue }
            if scalars.count < scalarLimit { scalars.append(Scalar(path: path(open), range: begin..<position)) }
            if try leave(&open) { return }
        }
    }

    /// Steps into a container; false if it is empty, and so already behind us.
    private mutating func enter(_ kind: Kind, _ open: inout [Container]) throws(MessageError) -> Bool {
        guard open.count < Self.depthLimit else { throw .tooDeep(limit: Self.depthLimit, at: position) }
        position += 1
        skipSpace()
        if peek == Self.end(of: kind) {
            position += 1
            return false
        }
        open.append(Container(kind: kind, key: kind == .object ? try scanKey() : 0..<0))
        return true
    }

    /// Goes on behind a value: to the next one of its container, or out of it; true when only the first is open.
    private mutating func leave(_ open: inout [Container]) throws(MessageError) -> Bool {
        while open.count > 1 {
            let last = open.count - 1
            skipSpace()
            if takeComma() {
                if open[last].kind == .object { open[last].key = try scanKey() } else { skipSpace() }
                open[last].index += 1
                return false
            }
            switch open[last].kind {
            case .object: try take(Self.end(of: .object), expected: "a comma or the end of the object")
            case .array: try take(Self.end(of: .array), expected: "a comma or the end of the array")
            }
            open.removeLast()
        }
        return true
    }

    /// A key and the colon behind it.
    private mutating func scanKey() throws(MessageError) -> Range<Int> {
        skipSpace()
        guard peek == UInt8(ascii: "\"") else { throw .malformed(at: position, expected: "a key in quotes") }
        let begin = position
        try skipString()
        let key = begin..<position
        skipSpace()
        try take(UInt8(ascii: ":"), expected: "a colon")
        skipSpace()
        return key
    }

    private mutating func skipString() throws(MessageError) {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): try skipEscape()
            case ..<0x20: throw .malformed(at: position, expected: "an escaped control character")
            default: position += 1
            }
        }
        throw .malformed(at: position, expected: "a closing quote")
    }

    private mutating func skipEscape() throws(MessageError) {
        position += 1
        switch peek {
        case UInt8(ascii: "u"):
            for offset in 1...4 {
                guard position + offset < bytes.count, isHexDigit(bytes[position + offset]) else {
                    throw .malformed(at: position + offset, expected: "a hexadecimal digit")
                }
            }
            position += 5
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        default: throw .malformed(at: position, expected: "an escape")
        }
    }

    private mutating func skipNumber() throws(MessageError) {
        let begin = position
        if peek == UInt8(ascii: "-") { position += 1 }
        if peek == UInt8(ascii: "0") {
            position += 1
        } else {
            try skipDigits(expected: position == begin ? "a value" : "a digit")
        }
        if peek == UInt8(ascii: ".") {
            position += 1
            try skipDigits(expected: "a digit")
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            position += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try skipDigits(expected: "a digit")
        }
    }

    private mutating func skipDigits(expected: StaticString) throws(MessageError) {
        let begin = position
        while let byte = peek, isDigit(byte) { position += 1 }
        guard position > begin else { throw .malformed(at: position, expected: expected) }
    }

    private mutating func skip(literal: String) throws(MessageError) {
        guard bytes[position...].starts(with: literal.utf8) else {
            throw .malformed(at: position, expected: "a value")
        }
        position += literal.utf8.count
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8, expected: StaticString) throws(MessageError) {
        guard peek == byte else { throw .malformed(at: position, expected: expected) }
        position += 1
    }

    private mutating func takeComma() -> Bool {
        guard peek == UInt8(ascii: ",") else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func path(_ open: [Container]) -> String {
        var path = ""
        for container in open {
            switch container.kind {
            case .object: path += (path.isEmpty ? "" : ".") + (text(container.key) ?? "?")
            case .array: path += "[\(container.index)]"
            }
        }
        return path
    }

    /// What the string at a place says; nil for half a surrogate pair, which is JSON and no text.
    func text(_ range: Range<Int>) -> String? {
        let literal = bytes[range]
        guard literal.contains(UInt8(ascii: "\\")) else {
            return String(validating: literal.dropFirst().dropLast(), as: UTF8.self)
        }
        return try? JSONDecoder().decode(String.self, from: Data(literal))
    }

    private static func end(of kind: Kind) -> UInt8 {
        kind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]")
    }
}

private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

private func isHexDigit(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= lower
}
