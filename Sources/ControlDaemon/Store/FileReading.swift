import ControlAPI
import Dispatch
import LinuxSystem
import Synchronization

/// What one file of the folder of configurations holds.
struct FileReading: Sendable {
    enum Found: Sendable {
        case configuration(Configuration)
        case fault(ConfigurationFile.Fault)
    }

    let path: String
    /// From its name; nil where the name has none.
    let identifier: String?
    let found: Found
    /// Whether it is what tunneld wrote last: it has the time and the size of its copy in the history.
    let isAsWritten: Bool

    /// Reads all files, on as many threads as help; in the order of the names.
    ///
    /// Editors' own files, whose names begin with a dot, are left out.
    static func all(_ names: [String], _ directories: DaemonDirectories, _ history: HistoryFolder) -> [FileReading] {
        let names = names.filter { !$0.hasPrefix(".") }
        let share = max(256, (names.count + 3) / 4)
        let shares = stride(from: 0, to: names.count, by: share).map { names[$0..<min($0 + share, names.count)] }
        guard shares.count > 1 else { return names.map { FileReading($0, directories, history) } }
        let results = Mutex<[Int: [FileReading]]>([:])
        let group = DispatchGroup()
        for (index, share) in shares.enumerated() {
            DispatchQueue(label: "store-reader-\(index)").async(group: group) {
                let read = share.map { FileReading($0, directories, history) }
                results.withLock { $0[index] = read }
            }
        }
        group.wait()
        return results.withLock { results in shares.indices.flatMap { results[$0] ?? [] } }
    }

    private init(_ name: String, _ directories: DaemonDirectories, _ history: HistoryFolder) {
        path = "\(directories.configurations)/\(name)"
        guard let identifier = ConfigurationFile.identifier(inName: name), ConfigurationFile.isIdentifier(identifier)
        else {
            self.identifier = nil
            found = .fault(.damaged(ConfigurationFile.unusableName))
            isAsWritten = false
            return
        }
        self.identifier = identifier
        do throws(ConfigurationFile.Fault) {
            let known = ConfigurationFile.readKnown(path, identifier: identifier)
            let configuration =
                if let known { known } else { try ConfigurationFile.readOwn(path, identifier: identifier) }
            let copy = try? FileStamp(of: history.file(identifier, configuration.generation))
            let isOurs = copy != nil && copy == (try? FileStamp(of: path))
            found = .configuration(
                isOurs ? configuration : try ConfigurationFile.readEdited(path, identifier: identifier)
            )
            isAsWritten = isOurs
        } catch {
            isAsWritten = false
            found = .fault(error)
        }
    }
}
