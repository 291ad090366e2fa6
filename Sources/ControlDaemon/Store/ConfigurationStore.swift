package import ControlAPI
import FoundationEssentials
import Glibc
package import Keychain
import LinuxSystem

/// The configurations, on disk, and the one who changes them.
///
/// A save replaces a configuration whole: a crash at any point leaves the old or the new one. What can't be used is set
/// aside and reported, never erased.
package actor ConfigurationStore {
    /// What happened to a configuration.
    package struct Change: Sendable {
        package let previous: Configuration?
        /// Nil once it is removed.
        package let current: Configuration?
    }

    /// A save, judged already but for what only the store knows.
    package struct Draft: Sendable {
        /// Placeholders stand where references shall be.
        package var configuration: Configuration
        package var generation: Int?
        package var secrets: [ConfigurationsCalls.SecretDescription]
        package var bundle: PendingSecrets
        package var places: SecretPlaces
        package var origin: Origin

        /// Where it comes from: a client's copy must be of the present generation, what stood on this disk need not.
        package enum Origin: Sendable { case client, history, file }

        package init(
            configuration: Configuration,
            generation: Int?,
            secrets: [ConfigurationsCalls.SecretDescription] = [],
            bundle: PendingSecrets = PendingSecrets(),
            places: SecretPlaces,
            origin: Origin = .client
        ) {
            self.configuration = configuration
            self.generation = generation
            self.secrets = secrets
            self.bundle = bundle
            self.places = places
            self.origin = origin
        }
    }

    /// Configurations of one owner.
    package static let limitPerOwner = 16_384

    let directories: DaemonDirectories
    let keychain: Keychain
    let history: HistoryFolder
    let pending: PendingSave
    let incidents: Incidents
    let onStep: @Sendable (StoreStep) -> Void
    private(set) var stored: [String: Configuration]
    /// Those that can be restored, by identifier.
    var lost: [String: LostConfiguration]
    /// Those that were removed since this tunneld started.
    private var removed: Set<String> = []
    var items = ItemUses()
    private var changed: @Sendable (Change) -> Void = { _ in }

    /// - Parameters:
    ///   - contents: what was found on disk.
    ///   - onStep: called at each point of a change where a crash finds something else; for tests.
    package init(
        _ directories: DaemonDirectories,
        keychain: Keychain,
        contents: StoreContents,
        incidents: Incidents = Incidents(),
        onStep: @escaping @Sendable (StoreStep) -> Void = { _ in }
    ) {
        self.directories = directories
        self.keychain = keychain
        self.incidents = incidents
        self.onStep = onStep
        history = HistoryFolder(path: directories.history)
        pending = PendingSave(folder: directories.pending, onStep: onStep)
        stored = contents.configurations
        lost = contents.lost
        for configuration in stored.values { items.use(StoreContents.references(in: configuration)) }
    }

    /// Sets who is told of each change, in order, after it is durable.
    package func onChange(_ body: @escaping @Sendable (Change) -> Void) { changed = body }

    package func configuration(_ identifier: String) -> Configuration? { stored[identifier] }

    /// What is known of a configuration that nobody removed by a call: as it is stored, else as it was before it was lost.
    ///
    /// - Parameter last: what is known of it otherwise; counts where the whole state directory was lost.
    package func unremoved(_ identifier: String, or last: Configuration? = nil) -> Configuration? {
        stored[identifier] ?? lost[identifier]?.last ?? (removed.contains(identifier) ? nil : last)
    }

    /// All, by name.
    package func configurations() -> [Configuration] {
        stored.values.sorted { ($0.name, $0.identifier) < ($1.name, $1.identifier) }
    }

    /// Judges a save by what is stored; a draft that passes may still fail in `save`, if the store moves on meanwhile.
    ///
    /// - Throws: `configurationStale`, `configurationUnknown`, `configurationInvalid`, `nameTaken`, `tooMany`, and what
    ///   `SecretRules.check` throws.
    package func check(_ draft: Draft) throws(ControlError) {
        let configuration = draft.configuration
        if draft.origin != .client {
            // It stood on this disk: there is nothing that it could be older than.
        } else if configuration.identifier.isEmpty {
            guard draft.generation == 0 else { throw stale(configuration.name, stored: nil, given: draft.generation) }
            guard stored.values.count(where: { $0.owner.user == configuration.owner.user }) < Self.limitPerOwner else {
                throw ControlError(
                    .tooMany,
                    "Can't save \(configuration.name).",
                    reason: "User \(configuration.owner.user) has \(Self.limitPerOwner) configurations already.",
                    remedy: "Remove some: tunnelctl remove NAME."
                )
            }
        } else {
            guard let present = stored[configuration.identifier] else { throw unknown(configuration.identifier) }
            guard draft.generation == present.generation else {
                throw stale(configuration.name, stored: present.generation, given: draft.generation)
            }
        }
        let taken = stored.values.contains {
            $0.name == configuration.name && $0.owner.user == configuration.owner.user
                && $0.identifier != configuration.identifier
        }
        if taken {
            throw ControlError(
                .nameTaken,
                "Can't save \(configuration.name).",
                reason: "There is a configuration with this name already.",
                remedy: "Give it another name (--name NAME), or replace the other one (--replace).",
                field: "name"
            )
        }
        // Files may come in any order; what isn't there by then, the start finds.
        if draft.origin == .client { try checkNesting(of: configuration) }
        try SecretRules.check(
            draft.places.places(in: configuration),
            secrets: draft.secrets,
            labels: draft.bundle.labels,
            others: StoreContents.references(in: configuration),
            known: known(to: draft),
            isEnabled: configuration.enabled
        ) { (reference) throws(KeychainError) in
            _ = try keychain.header(of: reference, ownedBy: configuration.owner.user)
        }
    }

    /// Saves: the secrets first, then the configuration that refers to them; both or neither, also after a crash.
    ///
    /// Durable once this has returned. What changes nothing makes no new generation.
    package func save(_ draft: Draft) throws(ControlError) -> Configuration {
        try check(draft)
        let identifier = draft.configuration.identifier
        let previous = stored[identifier]
        var configuration = draft.configuration
        if configuration.identifier.isEmpty { configuration.identifier = UUID().uuidString.lowercased() }
        // One tunnel that takes all traffic at a time (design, section 3).
        if configuration.includeAllNetworks { configuration.exclusive = true }
        configuration.generation = previous?.generation ?? history.generations(configuration.identifier).last ?? 0
        if configuration == previous { return configuration }
        configuration.generation += 1
        let added = Dictionary(
            draft.secrets.map { ($0.placeholder, ItemReference.random()) },
            uniquingKeysWith: { $1 }
        )
        configuration = draft.places.replacing(in: configuration) { added[$0]?.description }
        try put(configuration, draft, added)
        lost[configuration.identifier] = nil
        removed.remove(configuration.identifier)
        take(configuration, in: previous)
        switchOffOthers(of: configuration)
        return configuration
    }

    /// Writes everything that a save writes; nothing is left of it where it fails.
    private func put(
        _ configuration: Configuration,
        _ draft: Draft,
        _ added: [String: ItemReference]
    ) throws(ControlError) {
        let identifier = configuration.identifier
        do throws(ControlError) {
            let bytes = try ConfigurationFile.encode(configuration)
            try failing("save \(configuration.name)") { () throws(SystemError) in
                if draft.origin != .file { try keepForeignFile(identifier) }
                try history.prepare(identifier)
                if !added.isEmpty { try pending.note(added.values, of: identifier) }
            }
            try addItems(draft, configuration, added)
            try failing("save \(configuration.name)") { () throws(SystemError) in
                try pending.write(bytes, of: identifier)
                try AtomicFile.write(bytes, to: file(identifier), mode: 0o600) { onStep(.configuration($0)) }
            }
        } catch {
            try? keychain.remove(added.values)
            pending.forget(identifier)
            throw error
        }
    }

    /// Keeps a configuration that is saved as the present one, and in the history.
    private func take(_ configuration: Configuration, in previous: Configuration?) {
        let identifier = configuration.identifier
        stored[identifier] = configuration
        items.use(StoreContents.references(in: configuration))
        do throws(SystemError) {
            try pending.settleItems(of: identifier)
            let stamp = try FileStamp(of: file(identifier))
            try history.adopt(pending.document(identifier), identifier, configuration.generation, stamp)
            onStep(.generationKept)
        } catch {
            incidents.add(
                "Generation \(configuration.generation) of \(configuration.name) is saved, but can't be put into the "
                    + "history: \(error). The next start of tunneld tries again."
            )
        }
        changed(Change(previous: previous, current: configuration))
        if let previous {
            items.giveUp(StoreContents.references(in: previous))
            items.remember(StoreContents.references(in: previous), of: identifier)
        }
        dropOldGenerations(of: identifier)
        removeCondemned()
    }

    /// Removes a configuration, or what was kept of a lost one, with its history and the items that only it referred to; all
    /// of it or nothing.
    ///
    /// - Parameter generation: the one that was loaded; nil: whatever is stored.
    package func remove(_ identifier: String, generation: Int?) throws(ControlError) {
        guard let (last, _) = known(identifier) else { throw unknown(identifier) }
        if let generation, generation != last.generation {
            throw stale(last.name, stored: last.generation, given: generation)
        }
        try makeWay(for: identifier)
        let grave = "\(directories.removed)/\(identifier)"
        try failing("remove \(last.name)") { () throws(SystemError) in
            try history.prepare(identifier)
            try AtomicFile.move(history.folder(identifier), to: grave)
            onStep(.removalNoted)
            do throws(SystemError) {
                try AtomicFile.remove(file(identifier))
            } catch {
                // Nothing was removed.
                try? AtomicFile.move(grave, to: history.folder(identifier))
                throw error
            }
            onStep(.fileRemoved)
        }
        lost[identifier] = nil
        removed.insert(identifier)
        let present = stored.removeValue(forKey: identifier)
        changed(Change(previous: present ?? last, current: nil))
        if let present { items.giveUp(StoreContents.references(in: present)) }
        items.forget(identifier)
        items.condemn(HistoryFolder.references(inFolder: grave))
        removeCondemned()
        // What can't be removed now, the next start removes.
        try? FolderRemoval.remove(grave)
        onStep(.historyRemoved)
    }

    /// Forgets a configuration whose file somebody else removed; its history and its secrets stay, to restore it.
    func lose(_ identifier: String, _ reason: String) {
        guard let present = stored[identifier] else { return }
        stored[identifier] = nil
        let last = history.newest(identifier) ?? present
        lost[identifier] = LostConfiguration(last: last, reason: reason)
        // Its history still needs them.
        items.remember(StoreContents.references(in: present), of: identifier)
        items.giveUp(StoreContents.references(in: present))
        changed(Change(previous: present, current: nil))
    }

    // MARK: Pieces

    func file(_ identifier: String) -> String {
        "\(directories.configurations)/\(ConfigurationFile.name(identifier))"
    }

    private func failing(_ what: String, _ body: () throws(SystemError) -> Void) throws(ControlError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw Self.failed(what, error)
        }
    }

    /// References whose items need not be readable just now: those of the stored configuration, and all of a file that
    /// somebody wrote, for no failed look-up shall cost a configuration.
    private func known(to draft: Draft) -> Set<ItemReference> {
        let stored = stored[draft.configuration.identifier].map { StoreContents.references(in: $0) } ?? []
        return draft.origin == .file ? stored.union(StoreContents.references(in: draft.configuration)) : stored
    }

    private func addItems(
        _ draft: Draft,
        _ configuration: Configuration,
        _ added: [String: ItemReference]
    ) throws(ControlError) {
        do throws(KeychainError) {
            let items = draft.secrets.compactMap { secret -> Keychain.NotedItem? in
                guard let reference = added[secret.placeholder] else { return nil }
                let header = ItemHeader(
                    owner: configuration.owner.user,
                    kind: secret.kind,
                    label: "\(configuration.name): \(secret.placeholder)",
                    isPartOfConfiguration: true
                )
                return Keychain.NotedItem(secret.placeholder, as: header, at: reference)
            }
            try keychain.add(items, of: draft.bundle) { onStep(.itemAdded) }
        } catch {
            if case .identity = error {
                throw ControlError.invalid("secrets", error.sentence, error.remedy)
            }
            throw ControlError(
                .configurationReadWriteFailed,
                "Can't save \(configuration.name): its secrets can't be kept.",
                reason: error.sentence,
                remedy: error.remedy
            )
        }
    }

    static func failed(_ what: String, _ error: SystemError) -> ControlError {
        ControlError(
            .configurationReadWriteFailed,
            "Can't \(what).",
            reason: error.description,
            remedy: error.fileRemedy("tunneld's state directory")
        )
    }

    private func unknown(_ identifier: String) -> ControlError { .configurationUnknown(identifier) }

    func stale(_ name: String, stored: Int?, given: Int?) -> ControlError {
        let reason =
            switch (stored, given) {
            case (_, nil): "The call doesn't say which generation was loaded."
            case (nil, let given?): "Generation \(given) of it was never stored under this identifier."
            case (let stored?, let given?): "Generation \(given) was loaded; generation \(stored) is stored."
            }
        return ControlError(
            .configurationStale,
            "Can't change \(name): the copy is stale.",
            reason: reason,
            remedy: "Load the configuration again, and make the change in that copy."
        )
    }
}

extension ControlError {
    /// No such configuration, or none that the caller may know of.
    static func configurationUnknown(_ identifier: String) -> ControlError {
        ControlError(
            .configurationUnknown,
            "There is no such configuration.",
            reason: "None of yours or of the system's has the identifier \(identifier.prefix(64)).",
            remedy: "tunnelctl list shows those that there are."
        )
    }
}
