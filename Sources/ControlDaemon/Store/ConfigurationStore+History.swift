package import ControlAPI
package import Keychain
import LinuxSystem

/// Earlier generations, and the items that they refer to.
extension ConfigurationStore {
    /// What is stored or lost under an identifier, with what became of a lost one; nil for neither.
    package func known(_ identifier: String) -> (last: Configuration, lost: LostConfiguration?)? {
        if let present = configuration(identifier) { return (present, nil) }
        return lost[identifier].map { ($0.last, $0) }
    }

    /// Those that are lost, by name.
    package func lostConfigurations() -> [LostConfiguration] {
        lost.values.sorted { ($0.last.name, $0.last.identifier) < ($1.last.name, $1.last.identifier) }
    }

    /// The generations of a configuration, ascending.
    package func generations(of identifier: String) -> [ConfigurationsCalls.Generation] {
        let present = configuration(identifier)?.generation
        var result: [ConfigurationsCalls.Generation] = []
        var before: Configuration?
        for generation in history.generations(identifier) {
            let stamp = try? FileStamp(of: history.file(identifier, generation))
            var entry = ConfigurationsCalls.Generation(
                generation: generation,
                time: Timestamp(
                    milliseconds: Int64(stamp?.seconds ?? 0) * 1000 + Int64(stamp?.nanoseconds ?? 0) / 1_000_000
                ),
                isPresent: generation == present
            )
            do throws(ConfigurationFile.Fault) {
                let configuration = try history.read(identifier, generation, anybodys: true)
                entry.name = configuration.name
                entry.changes = before.map { Self.changes(from: $0, to: configuration) }
                before = configuration
            } catch {
                entry.fault = "\(error)"
            }
            result.append(entry)
        }
        return result
    }

    /// A stored generation, as a draft to save anew.
    ///
    /// - Parameter loaded: the present generation that the caller knows; nil: whichever it is.
    /// - Throws: `configurationStale`, `configurationUnknown`, `notFound`, `configurationReadWriteFailed`.
    package func draft(
        restoring generation: Int,
        of identifier: String,
        loaded: Int?
    ) throws(ControlError) -> Draft {
        guard let (last, _) = known(identifier) else { throw .configurationUnknown(identifier) }
        if let loaded, let present = configuration(identifier)?.generation, loaded != present {
            throw stale(last.name, stored: present, given: loaded)
        }
        let all = history.generations(identifier)
        guard all.contains(generation) else {
            throw ControlError(
                .notFound,
                "\(last.name) has no generation \(generation).",
                reason: all.isEmpty
                    ? "None is kept." : "Kept are \(all.map(String.init).joined(separator: ", ")).",
                remedy: "\(TunnelctlCommand.text("history", last.name)) lists them.",
                field: "generation"
            )
        }
        do throws(ConfigurationFile.Fault) {
            let configuration = try history.read(identifier, generation, anybodys: true)
            return Draft(
                configuration: configuration,
                generation: nil,
                places: SecretPlaces(keys: []),
                origin: .history
            )
        } catch {
            throw ControlError(
                .configurationReadWriteFailed,
                "Generation \(generation) of \(last.name) can't be restored.",
                reason: "\(history.file(identifier, generation)): \(error).",
                remedy: "Restore another generation."
            )
        }
    }

    /// Sets a file of a lost configuration aside that restoring would overwrite, or removing erase.
    package func makeWay(for identifier: String) throws(ControlError) {
        guard lost[identifier] != nil, (try? FileStamp(of: file(identifier))) != nil else { return }
        do throws(SystemError) {
            let aside = try DamagedFiles(folder: directories.damaged).setAside(file(identifier))
            incidents.add(
                "The file \(file(identifier)) was set aside as \(aside), for its configuration is restored or removed."
            )
        } catch {
            throw Self.failed("set the file of the lost configuration aside", error)
        }
    }

    /// The keys of a document that differ.
    private static func changes(from old: Configuration, to new: Configuration) -> [String] {
        let old = (try? JSONValue(encoding: old).object) ?? [:]
        let new = (try? JSONValue(encoding: new).object) ?? [:]
        return Set(old.keys).union(new.keys).subtracting(["generation"]).filter { old[$0] != new[$0] }.sorted()
    }

    // MARK: Items

    /// Keeps items from being removed with their configuration as long as a session may read them again.
    ///
    /// What the session had pinned before is let go.
    package func pin(_ references: Set<ItemReference>, by session: String) {
        items.pin(references, by: session)
        removeCondemned()
    }

    package func unpin(by session: String) {
        items.unpin(by: session)
        removeCondemned()
    }

    /// Forgets the generations beyond the limit.
    func dropOldGenerations(of identifier: String) {
        do throws(SystemError) {
            guard try history.prune(identifier) else { return }
            onStep(.generationDropped)
            items.remember(only: history.references(identifier), of: identifier)
        } catch {
            incidents.add("Old generations in \(history.folder(identifier)) can't be removed: \(error)")
        }
    }

    /// Removes the items that no configuration, generation or session needs.
    func removeCondemned() {
        guard items.hasCondemned else { return }
        if !items.knowsHistory {
            let all = (try? FileSystem.names(inFolder: directories.history)) ?? []
            // What the present generations refer to is known, and most configurations have no other.
            items.learn(
                Dictionary(
                    all.map { ($0, history.references($0, except: configuration($0)?.generation)) },
                    uniquingKeysWith: { $1 }
                )
            )
        }
        // What can't be removed now is reported as an orphan at the next start.
        try? keychain.removeWithConfiguration(items.takeUseless()) { onStep(.itemRemoved) }
    }
}
