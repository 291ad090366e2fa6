package import ControlAPI
package import Keychain
import Glibc
import LinuxSystem

/// What the state directory holds when tunneld starts, and what of it is not as it should be.
package struct StoreContents: Sendable {
    package var configurations: [String: Configuration] = [:]
    /// What an operator should know, a sentence each.
    package var incidents: [String] = []
    /// Items that no configuration refers to; kept.
    package var orphans: Set<ItemReference> = []
    /// Configurations whose file is gone or can't be used, and whose history is there.
    package var lost: [String: LostConfiguration] = [:]
    /// Files that somebody changed while no tunneld ran; their configurations are still as they were.
    package var edited: [String] = []
    /// Saves that a crash interrupted; those whose file is there were made.
    private var interrupted: [String: Configuration] = [:]

    /// Reads the state directory, whose folders are made where they are missing, and finishes or takes back what a crash
    /// left half done.
    ///
    /// - Throws: `configurationReadWriteFailed` where the directory itself can't be used.
    package static func load(_ directories: DaemonDirectories, _ keychain: Keychain) throws(ControlError)
        -> StoreContents
    {
        var contents = StoreContents()
        do throws(SystemError) {
            let folders = [
                directories.configurations, directories.history, directories.pending, directories.removed,
                directories.damaged, directories.timestamps,
            ]
            for folder in folders { try makeFolder(folder, mode: 0o700) }
            for folder in [directories.configurations, directories.pending, directories.timestamps] {
                try AtomicFile.removeTemporaryFiles(in: folder)
            }
            let history = HistoryFolder(path: directories.history)
            try contents.takeBackRemovals(directories, history)
            let pending = PendingSave(folder: directories.pending, onStep: { _ in })
            contents.interrupted = try pending.documents()
            let names = try FileSystem.names(inFolder: directories.configurations).sorted()
            for file in FileReading.all(names, directories, history) { contents.take(file, directories, history) }
            contents.incidents += try pending.recover(
                contents.configurations,
                files: directories.configurations,
                history,
                keychain
            )
            try contents.finishRemovals(directories, history, keychain)
            try contents.findLost(directories, history)
        } catch {
            throw ControlError(
                .configurationReadWriteFailed,
                "The state directory \(directories.state) can't be used.",
                reason: error.description,
                remedy: error.fileRemedy(directories.state, or: "name another directory in STATE_DIRECTORY")
            )
        }
        contents.judgeRecords(directories)
        contents.findOrphans(keychain, HistoryFolder(path: directories.history))
        return contents
    }

    /// All references to items anywhere in a configuration.
    package static func references(in configuration: Configuration) -> Set<ItemReference> {
        var found: Set<ItemReference> = []
        if let text = configuration.passwordReference, let reference = ItemReference(text) { found.insert(reference) }
        if let provider = configuration.provider { collect(provider.configuration, &found) }
        return found
    }

    static func collect(_ value: JSONValue, _ found: inout Set<ItemReference>) {
        switch value {
        case .string(let text): if let reference = ItemReference(text) { found.insert(reference) }
        case .array(let elements): for element in elements { collect(element, &found) }
        case .object(let members): for member in members.values { collect(member, &found) }
        default: break
        }
    }

    // MARK: Files

    private mutating func take(_ file: FileReading, _ directories: DaemonDirectories, _ history: HistoryFolder) {
        switch file.found {
        case .configuration(let configuration):
            take(configuration, isAsWritten: file.isAsWritten, directories, history)
        case .fault(.damaged(let reason)): setAside(file.path, "is damaged: \(reason)", directories)
        case .fault(.foreign(let reason)): setAside(file.path, "can't be used by this tunneld: \(reason)", directories)
        case .fault(.unreadable(let error)):
            incidents.append("The configuration file \(file.path) can't be read and stays unused: \(error).")
        }
    }

    /// Takes a configuration as its file has it, or as the history has it where somebody changed the file.
    private mutating func take(
        _ configuration: Configuration,
        isAsWritten: Bool,
        _ directories: DaemonDirectories,
        _ history: HistoryFolder
    ) {
        let identifier = configuration.identifier
        if isAsWritten || configuration == interrupted[identifier] {
            configurations[identifier] = configuration
            return
        }
        let last = history.newest(identifier)
        if configuration.generation > last?.generation ?? 0, renewCopy(of: configuration, directories, history) {
            configurations[identifier] = configuration
            return
        }
        guard let last else {
            // Nothing of ours vouches for it: it is judged like one that comes while tunneld runs.
            edited.append(identifier)
            return
        }
        configurations[identifier] = last
        var same = configuration
        same.generation = last.generation
        if same != last || configuration.generation != last.generation { edited.append(identifier) }
    }

    /// Sets the copy of a configuration aside that the history has and nobody can read, and makes another from its file.
    ///
    /// - Returns: whether the history has such a copy.
    private mutating func renewCopy(
        of configuration: Configuration,
        _ directories: DaemonDirectories,
        _ history: HistoryFolder
    ) -> Bool {
        let identifier = configuration.identifier
        let copy = history.file(identifier, configuration.generation)
        guard (try? FileStamp(of: copy)) != nil else { return false }
        do throws(SystemError) {
            let aside = try DamagedFiles(folder: directories.damaged).setAside(
                copy,
                as: "\(identifier)-\(configuration.generation).json"
            )
            incidents.append("The copy \(copy) of \(configuration.name) is damaged. It was set aside as \(aside).")
            let path = "\(directories.configurations)/\(ConfigurationFile.name(identifier))"
            let bytes = try FileSystem.contents(ofFile: path, limit: ConfigurationFile.limit)
            try AtomicFile.write(bytes, to: copy, mode: 0o600)
            try FileStamp(of: path).apply(to: copy)
        } catch {
            incidents.append("The history of \(configuration.name) can't be mended: \(error).")
        }
        return true
    }

    /// - Parameter fault: what is wrong with the file, as the rest of a sentence.
    private mutating func setAside(_ path: String, _ fault: String, _ directories: DaemonDirectories) {
        let found = ControlError.sentence("The configuration file \(path) \(fault)")
        do throws(SystemError) {
            let aside = try DamagedFiles(folder: directories.damaged).setAside(path)
            incidents.append("\(found) It was set aside as \(aside).")
        } catch {
            incidents.append("\(found) It could not be set aside and stays unused: \(error).")
        }
    }

    // MARK: What a crash left

    /// A removal whose file is still there was never made.
    private func takeBackRemovals(_ directories: DaemonDirectories, _ history: HistoryFolder) throws(SystemError) {
        for identifier in try FileSystem.names(inFolder: directories.removed) {
            let file = "\(directories.configurations)/\(ConfigurationFile.name(identifier))"
            guard unsafe access(file, F_OK) == 0, unsafe access(history.folder(identifier), F_OK) != 0 else { continue }
            try AtomicFile.move("\(directories.removed)/\(identifier)", to: history.folder(identifier))
        }
    }

    /// One whose file is gone is finished: its items go, and its history.
    private func finishRemovals(
        _ directories: DaemonDirectories,
        _ history: HistoryFolder,
        _ keychain: Keychain
    ) throws(SystemError) {
        let names = try FileSystem.names(inFolder: directories.removed)
        guard !names.isEmpty else { return }
        let used = configurations.values.reduce(into: Set<ItemReference>()) { $0.formUnion(Self.references(in: $1)) }
        for name in names {
            let folder = "\(directories.removed)/\(name)"
            try? keychain.removeWithConfiguration(HistoryFolder.references(inFolder: folder).subtracting(used))
            try FolderRemoval.remove(folder)
        }
    }

    private mutating func findLost(_ directories: DaemonDirectories, _ history: HistoryFolder) throws(SystemError) {
        for identifier in try FileSystem.names(inFolder: directories.history) where configurations[identifier] == nil {
            guard let last = history.newest(identifier, anybodys: true) else { continue }
            let reason = DamagedFiles(folder: directories.damaged).reason(
                identifier,
                since: (try? FileStamp(of: history.file(identifier, last.generation)))?.seconds ?? 0
            )
            lost[identifier] = LostConfiguration(last: last, reason: reason)
            incidents.append(
                "The configuration \(last.name) is lost: \(reason) tunnelctl restore \(identifier) "
                    + "\(last.generation) brings back its last good generation."
            )
        }
    }

    private mutating func findOrphans(_ keychain: Keychain, _ history: HistoryFolder) {
        guard let items = try? keychain.references() else { return }
        let used = configurations.values.reduce(into: Set<ItemReference>()) { $0.formUnion(Self.references(in: $1)) }
        // Items that were added by themselves need no configuration.
        orphans = items.subtracting(used).filter {
            (try? keychain.claimedHeader(of: $0))?.isPartOfConfiguration != false
        }
        guard !orphans.isEmpty else { return }
        for identifier in (try? FileSystem.names(inFolder: history.path)) ?? [] {
            orphans.subtract(history.references(identifier))
        }
        if !orphans.isEmpty {
            incidents.append("\(orphans.count) keychain items belong to no configuration; they are kept.")
        }
    }
}
