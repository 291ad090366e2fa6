import ControlAPI
import Keychain

/// Takes a file apart; a secret must lie inside of it, and what it says of itself must agree with its start alone.
func check(_ file: [UInt8]) {
    let bytes = unsafe file.span.bytes
    do throws(ItemFile.Fault) {
        let item = try ItemFile(parsing: bytes)
        let range =
            switch item.body {
            case .plain(let range): range
            case .sealed(_, let range): range
            }
        precondition(!range.isEmpty && range.lowerBound >= 16 && range.upperBound == file.count)
        precondition(item.header.label.utf8.count == range.lowerBound - (file[4] == 1 ? 16 : 32))
        let header = try ItemFile.header(parsing: bytes)
        precondition(header == item.header)
    } catch {
        precondition(!error.description.isEmpty)
    }
}
