/// A file's name or a word of the command line, which to the system is bytes and no text.
package enum FileName {
    /// The text; nil where the bytes aren't UTF-8.
    package static func text(_ bytes: [UInt8]) -> String? { String(validating: bytes, as: UTF8.self) }

    /// The text with each byte that isn't UTF-8 as an escape ("caf\\xE9.conf").
    package static func shown(_ bytes: [UInt8]) -> String {
        var shown = ""
        var iterator = bytes.makeIterator()
        var parser = Unicode.UTF8.ForwardParser()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar):
                offset += scalar.count
                shown.unicodeScalars.append(Unicode.UTF8.decode(scalar))
            case .error(let length):
                for byte in bytes[offset..<min(offset + length, bytes.count)] {
                    shown += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
                offset += length
            case .emptyInput: return shown
            }
        }
    }
}
