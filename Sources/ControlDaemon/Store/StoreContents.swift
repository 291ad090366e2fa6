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

    /// Reads the state directory, whose folders are made where they are missing.
    ///
    /// - Throws: `configurationReadWriteFailed` where the directory itself can't be used.
    package static func load(_ directories: DaemonDirectories, _ keychain: Keychain) throws(ControlError)
        -> StoreContents
    {
        var contents = StoreContents()
        do throws(SystemError) {
            for folder in [directories.configurations, directories.damaged, directories.timestamps] {
                try makeFolder(folder, mode: 0o700)
            }
            try AtomicFile.removeTemporaryFiles(in: directories.configurations)
            try AtomicFile.removeTemporaryFiles(in: directories.timestamps)
            for name in try FileSystem.names(inFolder: directories.configurations).sorted() {
                contents.take(name, directories)
            }
        } catch {
            throw ControlError(
                .configurationReadWriteFailed,
                "The state directory \(directories.state) can't be used.",
                reason: error.description,
                remedy: "Make it a directory of root's that can be written, or name another in STATE_DIRECTORY."
            )
        }
        contents.findOrphans(keychain)
        return contents
    }

    /// All references to items anywhere in a configuration.
    package static func references(in configuration: Configuration) -> Set<ItemReference> {
        var found: Set<ItemReference> = []
        if let text = configuration.passwordReference, let reference = ItemReference(text) { found.insert(reference) }
        if let provider = configuration.provider { collect(provider.configuration, &found) }
        return found
    }

    private static func collect(_ value: JSONValue, _ found: inout Set<ItemReference>) {
        switch value {
        case .string(let text): if let reference = ItemReference(text) { found.insert(reference) }
        case .array(let elements): for element in elements { collect(element, &found) }
        case .object(let members): for member in members.values { collect(member, &found) }
        default: break
        }
    }

    private mutating func take(_ name: String, _ directories: DaemonDirectories) {
        let path = "\(directories.configurations)/\(name)"
        guard let identifier = ConfigurationFile.identifier(inName: name) else { return }
        do throws(ConfigurationFile.Fault) {
            configurations[identifier] = try ConfigurationFile.read(path, identifier: identifier)
        } catch {
            guard case .damaged = error else {
                incidents.append("The configuration file \(path) can't be read and stays unused: \(error).")
                return
            }
            let aside = "\(directories.damaged)/\(identifier).\(WallClockTime.now().seconds)\(ConfigurationFile.suffix)"
            let isMoved = unsafe rename(path, aside) == 0
            incidents.append(
                "The configuration file \(path) is damaged: \(error). "
                    + (isMoved ? "It was set aside as \(aside)." : "It could not be set aside and stays unused.")
            )
        }
    }

    private mutating func findOrphans(_ keychain: Keychain) {
        guard let items = try? keychain.references() else { return }
        let used = configurations.values.reduce(into: Set<ItemReference>()) { $0.formUnion(Self.references(in: $1)) }
        // Items that were added by themselves need no configuration.
        orphans = items.subtracting(used).filter {
            (try? keychain.claimedHeader(of: $0))?.isPartOfConfiguration != false
        }
        if !orphans.isEmpty {
            incidents.append("\(orphans.count) keychain items belong to no configuration; they are kept.")
        }
    }
}

/// Makes a folder and those above it where they are missing; what is there keeps its mode, for it may be another's.
func makeFolders(to path: String, mode: UInt32) throws(SystemError) {
    var status = stat()
    if unsafe stat(path, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(ENOTDIR, call: "mkdir(\(path))") }
        return
    }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
        try makeFolders(to: String(path[..<slash]), mode: 0o755)
    }
    try makeFolder(path, mode: mode)
}

/// Makes a folder, with exactly this mode, or leaves the one that is there.
func makeFolder(_ path: String, mode: UInt32) throws(SystemError) {
    if unsafe mkdir(path, mode) != 0 {
        let code = errno
        guard code == EEXIST else { throw SystemError(code, call: "mkdir(\(path))") }
    }
    if unsafe chmod(path, mode) != 0 { throw SystemError(errno, call: "chmod(\(path))") }
}
