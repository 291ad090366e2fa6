/// All that is wrong with a file, by line.
package struct ImportErrors: Error, Codable, Equatable, Sendable, CustomStringConvertible {
    /// At least one, at most `maximum`.
    package private(set) var errors: [ImportError] = []
    /// So many more were not listed.
    package private(set) var omitted = 0

    package static let maximum = 1000

    /// One error a line, and a last line for those omitted.
    package var description: String {
        let lines = errors.map(\.description)
        return (omitted > 0 ? lines + ["and \(ShownText.count(omitted, "more error"))"] : lines).joined(separator: "\n")
    }

    init() {}

    var isFull: Bool { errors.count >= Self.maximum }

    mutating func add(_ error: ImportError) { errors.append(error) }

    /// Counts an error that isn't listed any more.
    mutating func omit() { omitted += 1 }

    mutating func sort() {
        let order = errors.indices.sorted { (errors[$0].line, $0) < (errors[$1].line, $1) }
        errors = order.map { errors[$0] }
    }
}

/// One fault of a file; no part of it holds a secret.
package struct ImportError: Codable, Equatable, Sendable, CustomStringConvertible {
    /// From 1; 0 for the file as a whole.
    package let line: Int
    /// Where the value begins, in bytes from 1; nil where the whole line is meant.
    package let column: Int?
    /// "AllowedIPs"; nil where there is no known key.
    package let key: String?
    package let reason: String
    /// What to do about it, as whole sentences.
    package let hint: String?

    /// "line 7, column 14: PrivateKey: has 43 characters. A key has exactly 44 characters […]."
    package var description: String {
        let place = line > 0 ? "line \(line)" + (column.map { ", column \($0)" } ?? "") + ": " : ""
        return place + (key.map { "\($0): " } ?? "") + reason + "." + (hint.map { " " + $0 } ?? "")
    }
}
