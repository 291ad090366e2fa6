import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem

/// Why the last session of each configuration ended, where that was by an error: kept for good, so that whoever asks later
/// is told it, whatever was restarted meanwhile.
///
/// `last-errors/ID.json` in the state directory; gone once a session ended without an error, or with its configuration.
struct LastErrorStore: Sendable {
    private static let suffix = ".json"
    static let limit = 1 << 20
    let folder: String

    struct Record: Codable, Equatable, Sendable {
        static let version = 1

        var version = Record.version
        var error: ControlError
        /// When the session ended.
        var time: Timestamp
    }

    func keep(_ record: Record, of identifier: String) throws {
        try makeFolder(folder, mode: 0o700)
        try AtomicFile.write(Array(JSONEncoder().encode(record)), to: path(identifier), mode: 0o600)
    }

    func remove(_ identifier: String) {
        // Most sessions end without one, and syncing the folder has its price.
        if unsafe access(path(identifier), F_OK) == 0 { try? AtomicFile.remove(path(identifier)) }
    }

    /// What a file holds; nil where this version can't use it.
    static func record(in bytes: [UInt8]) -> Record? {
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)), record.version == Record.version
        else { return nil }
        return record
    }

    /// All that are kept, by identifier; what can't be used was set aside before.
    func all() -> [String: Record] {
        try? AtomicFile.removeTemporaryFiles(in: folder)
        var records: [String: Record] = [:]
        for name in (try? FileSystem.names(inFolder: folder)) ?? [] where name.hasSuffix(Self.suffix) {
            let identifier = String(name.dropLast(Self.suffix.count))
            records[identifier] = (try? FileSystem.contents(ofFile: path(identifier), limit: Self.limit))
                .flatMap(Self.record)
        }
        return records
    }

    private func path(_ identifier: String) -> String { "\(folder)/\(identifier)\(Self.suffix)" }
}
