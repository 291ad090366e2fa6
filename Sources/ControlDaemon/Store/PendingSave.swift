import ControlAPI
import FoundationEssentials
import Glibc
import Keychain
import LinuxSystem

/// What a save is about, on disk before it happens, so that a crash leaves neither half a save nor a secret without an
/// owner: `pending/ID.json`, the new generation, and `pending/ID.items`, the items that it brings.
struct PendingSave: Sendable {
    private static let items = ".items"

    let folder: String
    let onStep: @Sendable (StoreStep) -> Void

    func document(_ identifier: String) -> String { "\(folder)/\(identifier)\(ConfigurationFile.suffix)" }

    private func items(_ identifier: String) -> String { "\(folder)/\(identifier)\(Self.items)" }

    func note(_ references: some Sequence<ItemReference>, of identifier: String) throws(SystemError) {
        let text = references.map { "\($0)\n" }.sorted().joined()
        try AtomicFile.write(Array(text.utf8), to: items(identifier), mode: 0o600)
        onStep(.itemsNoted)
    }

    func write(_ bytes: [UInt8], of identifier: String) throws(SystemError) {
        try AtomicFile.write(bytes, to: document(identifier), mode: 0o600) { onStep(.pending($0)) }
    }

    /// The items belong to a configuration now.
    func settleItems(of identifier: String) throws(SystemError) {
        guard unsafe access(items(identifier), F_OK) == 0 else { return }
        try AtomicFile.remove(items(identifier))
        onStep(.itemsSettled)
    }

    /// Takes a save back that came to nothing.
    func forget(_ identifier: String) {
        for path in [document(identifier), items(identifier)] { try? AtomicFile.remove(path) }
    }

    /// The new generations that are noted, and can be read.
    func documents() throws(SystemError) -> [String: Configuration] {
        var found: [String: Configuration] = [:]
        for name in try FileSystem.names(inFolder: folder) {
            guard let identifier = ConfigurationFile.identifier(inName: name) else { continue }
            found[identifier] = try? ConfigurationFile.read("\(folder)/\(name)", identifier: identifier)
        }
        return found
    }

    /// Finishes what a crash left, or takes it back.
    ///
    /// - Parameters:
    ///   - stored: the configurations as their files have them.
    ///   - files: the folder of their files.
    /// - Returns: what can't be finished, a sentence each; it stays for the next start, and holds up nothing else.
    func recover(
        _ stored: [String: Configuration],
        files: String,
        _ history: HistoryFolder,
        _ keychain: Keychain
    ) throws(SystemError) -> [String] {
        var faults: [String] = []
        for name in try FileSystem.names(inFolder: folder) {
            do throws(SystemError) {
                try recover(name, stored, files: files, history, keychain)
            } catch {
                faults.append("What a crash left in \(folder)/\(name) can't be finished: \(error).")
            }
        }
        return faults
    }

    private func recover(
        _ name: String,
        _ stored: [String: Configuration],
        files: String,
        _ history: HistoryFolder,
        _ keychain: Keychain
    ) throws(SystemError) {
        let path = "\(folder)/\(name)"
        if name.hasSuffix(Self.items) {
            let present = stored[String(name.dropLast(Self.items.count))].map(StoreContents.references) ?? []
            let text = String(decoding: try FileSystem.contents(ofFile: path, limit: 1 << 20), as: UTF8.self)
            let noted = text.split(separator: "\n").compactMap { ItemReference(String($0)) }
            // What can't be removed is reported as one that belongs to nothing.
            try? keychain.remove(noted.filter { !present.contains($0) })
            try AtomicFile.remove(path)
        } else if let identifier = ConfigurationFile.identifier(inName: name), let present = stored[identifier],
            present == (try? ConfigurationFile.read(path, identifier: identifier))
        {
            let stamp = try FileStamp(of: "\(files)/\(name)")
            try history.adopt(path, identifier, present.generation, stamp)
        } else {
            try AtomicFile.remove(path)
        }
    }
}
