import LinuxSystem

/// The last TAI64N timestamp that each tunnel sent, kept for good, so that ours never go back (design, section 2).
struct TimestampStore: Sendable {
    let folder: String

    /// 12 bytes in hexadecimal; nil where none was kept.
    func timestamp(of identifier: String) -> String? {
        (try? FileSystem.contents(ofFile: path(identifier), limit: 64)).flatMap(Self.timestamp)
    }

    /// What a file holds; nil where that is none.
    static func timestamp(in bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return isTimestamp(text) ? text : nil
    }

    /// Keeps a timestamp if it is newer than `known`.
    ///
    /// - Returns: the newer one.
    func keep(_ timestamp: String, of identifier: String, known: String?) throws(SystemError) -> String? {
        // Big endian, so the order of the texts is that of the times.
        guard Self.isTimestamp(timestamp), timestamp > known ?? "" else { return known }
        try AtomicFile.write(Array(timestamp.utf8), to: path(identifier), mode: 0o600)
        return timestamp
    }

    func remove(_ identifier: String) { try? AtomicFile.remove(path(identifier)) }

    private static func isTimestamp(_ text: String) -> Bool {
        text.utf8.count == 24 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    private func path(_ identifier: String) -> String { "\(folder)/\(identifier)" }
}
