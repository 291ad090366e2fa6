import ControlAPI
import FoundationEssentials
import Glibc
import Keychain
import LinuxSystem

/// The generations of every configuration, each in a file of its own: `history/ID/GENERATION.json`.
///
/// The present generation is among them, so that it can be had when its own file is damaged.
struct HistoryFolder: Sendable {
    /// Generations of one configuration.
    static let limit = 20

    let path: String

    func folder(_ identifier: String) -> String { "\(path)/\(identifier)" }

    func file(_ identifier: String, _ generation: Int) -> String { "\(folder(identifier))/\(generation).json" }

    /// Makes a configuration's folder, durable.
    func prepare(_ identifier: String) throws(SystemError) {
        let folder = folder(identifier)
        if unsafe access(folder, F_OK) == 0 { return }
        try makeFolder(folder, mode: 0o700)
        try AtomicFile.syncFolder(of: folder)
    }

    /// The generations that there are, ascending; none where there is no folder.
    func generations(_ identifier: String) -> [Int] {
        let names = (try? FileSystem.names(inFolder: folder(identifier))) ?? []
        return names.compactMap { $0.hasSuffix(".json") ? Int($0.dropLast(5)) : nil }.filter { $0 > 0 }.sorted()
    }

    /// - Parameter anybodys: whether it is taken whoever may write it, for a person to decide on.
    func read(
        _ identifier: String,
        _ generation: Int,
        anybodys: Bool = false
    ) throws(ConfigurationFile.Fault) -> Configuration {
        try ConfigurationFile.read(file(identifier, generation), identifier: identifier, anybodys: anybodys)
    }

    /// The newest generation that can be read.
    func newest(_ identifier: String, anybodys: Bool = false) -> Configuration? {
        for generation in generations(identifier).reversed() {
            if let configuration = try? read(identifier, generation, anybodys: anybodys) { return configuration }
        }
        return nil
    }

    /// Everything that any generation refers to, also one that isn't valid any more.
    ///
    /// - Parameter generation: one that isn't looked at.
    func references(_ identifier: String, except generation: Int? = nil) -> Set<ItemReference> {
        Self.references(inFolder: folder(identifier), except: generation.map { "\($0).json" })
    }

    static func references(inFolder folder: String, except file: String? = nil) -> Set<ItemReference> {
        let names = (try? FileSystem.names(inFolder: folder)) ?? []
        return names.filter { $0 != file }.reduce(into: []) { found, name in
            let bytes = try? FileSystem.contents(ofFile: "\(folder)/\(name)", limit: ConfigurationFile.limit)
            guard let bytes, let document = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return }
            StoreContents.collect(document, &found)
        }
    }

    /// Takes a file in as a generation.
    ///
    /// - Parameter stamp: of the configuration's own file, which is the same: so it is seen when somebody changes that.
    func adopt(_ file: String, _ identifier: String, _ generation: Int, _ stamp: FileStamp?) throws(SystemError) {
        try prepare(identifier)
        try stamp?.apply(to: file)
        try AtomicFile.move(file, to: self.file(identifier, generation))
    }

    /// Removes the oldest generations beyond the limit.
    ///
    /// - Returns: whether there were any.
    func prune(_ identifier: String) throws(SystemError) -> Bool {
        let excess = generations(identifier).dropLast(Self.limit)
        for generation in excess { try AtomicFile.remove(file(identifier, generation)) }
        return !excess.isEmpty
    }
}
