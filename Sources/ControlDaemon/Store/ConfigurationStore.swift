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

        package init(
            configuration: Configuration,
            generation: Int?,
            secrets: [ConfigurationsCalls.SecretDescription],
            bundle: PendingSecrets,
            places: SecretPlaces
        ) {
            self.configuration = configuration
            self.generation = generation
            self.secrets = secrets
            self.bundle = bundle
            self.places = places
        }
    }

    /// Configurations of one owner.
    package static let limitPerOwner = 16_384

    private let folder: String
    private let keychain: Keychain
    private var stored: [String: Configuration]
    private var pins: [String: Set<ItemReference>] = [:]
    /// Items that a configuration has given up.
    private var condemned: Set<ItemReference> = []
    private var changed: @Sendable (Change) -> Void = { _ in }

    package init(folder: String, keychain: Keychain, contents: StoreContents) {
        self.folder = folder
        self.keychain = keychain
        stored = contents.configurations
    }

    /// Sets who is told of each change, in order, after it is durable.
    package func onChange(_ body: @escaping @Sendable (Change) -> Void) { changed = body }

    package func configuration(_ identifier: String) -> Configuration? { stored[identifier] }

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
        if configuration.identifier.isEmpty {
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
        try SecretRules.check(
            draft.places.places(in: configuration),
            secrets: draft.secrets,
            labels: draft.bundle.labels,
            others: StoreContents.references(in: configuration),
            known: stored[configuration.identifier].map { StoreContents.references(in: $0) } ?? []
        ) { (reference) throws(KeychainError) in
            _ = try keychain.header(of: reference, ownedBy: configuration.owner.user)
        }
    }

    /// Saves: the secrets first, then the configuration that refers to them; both or neither.
    ///
    /// Durable once this has returned. What changes nothing makes no new generation.
    package func save(_ draft: Draft) throws(ControlError) -> Configuration {
        try check(draft)
        let previous = stored[draft.configuration.identifier]
        var configuration = draft.configuration
        if configuration.identifier.isEmpty { configuration.identifier = UUID().uuidString.lowercased() }
        configuration.generation = previous?.generation ?? 0
        if configuration == previous { return configuration }
        configuration.generation += 1

        let added = try addItems(draft, configuration)
        configuration = draft.places.replacing(in: configuration) { added[$0]?.description }
        do throws(ControlError) {
            try write(configuration)
        } catch {
            for reference in added.values { try? keychain.remove(reference) }
            throw error
        }
        stored[configuration.identifier] = configuration
        changed(Change(previous: previous, current: configuration))
        if let previous { giveUpItems(of: previous) }
        return configuration
    }

    /// Removes a configuration, and the items that only it referred to.
    ///
    /// - Parameter generation: the one that was loaded; nil: whatever is stored.
    package func remove(_ identifier: String, generation: Int?) throws(ControlError) {
        guard let present = stored[identifier] else { throw unknown(identifier) }
        if let generation, generation != present.generation {
            throw stale(present.name, stored: present.generation, given: generation)
        }
        do throws(SystemError) {
            try AtomicFile.remove("\(folder)/\(ConfigurationFile.name(identifier))")
        } catch {
            throw Self.failed("remove \(present.name)", error)
        }
        stored[identifier] = nil
        changed(Change(previous: present, current: nil))
        giveUpItems(of: present)
    }

    /// Keeps items from being removed with their configuration as long as a session may read them again.
    ///
    /// What the session had pinned before is let go.
    package func pin(_ references: Set<ItemReference>, by session: String) {
        pins[session] = references
        removeCondemned()
    }

    package func unpin(by session: String) {
        pins[session] = nil
        removeCondemned()
    }

    private func giveUpItems(of configuration: Configuration) {
        condemned.formUnion(StoreContents.references(in: configuration))
        removeCondemned()
    }

    private func removeCondemned() {
        guard !condemned.isEmpty else { return }
        let used = stored.values.reduce(into: Set<ItemReference>()) { $0.formUnion(StoreContents.references(in: $1)) }
        condemned.subtract(used)
        let pinned = pins.values.reduce(into: Set<ItemReference>()) { $0.formUnion($1) }
        for reference in condemned.subtracting(pinned) {
            // Items that were added by themselves are removed by themselves; so are those that can't be read, for what
            // can't be removed now is reported as an orphan at the next start.
            if (try? keychain.claimedHeader(of: reference))?.isPartOfConfiguration == true {
                try? keychain.remove(reference)
            }
            condemned.remove(reference)
        }
    }

    private func addItems(
        _ draft: Draft,
        _ configuration: Configuration
    ) throws(ControlError) -> [String: ItemReference] {
        var added: [String: ItemReference] = [:]
        do throws(KeychainError) {
            for secret in draft.secrets {
                let label = "\(configuration.name): \(secret.placeholder)"
                added[secret.placeholder] = try keychain.add(
                    secret.placeholder,
                    of: draft.bundle,
                    as: ItemHeader(
                        owner: configuration.owner.user,
                        kind: secret.kind,
                        label: label,
                        isPartOfConfiguration: true
                    )
                )
            }
        } catch {
            for reference in added.values { try? keychain.remove(reference) }
            throw ControlError(
                .configurationReadWriteFailed,
                "Can't save \(configuration.name): its secrets can't be kept.",
                reason: error.description,
                remedy: error.remedy
            )
        }
        return added
    }

    private func write(_ configuration: Configuration) throws(ControlError) {
        let bytes = try ConfigurationFile.encode(configuration)
        do throws(SystemError) {
            let path = "\(folder)/\(ConfigurationFile.name(configuration.identifier))"
            try AtomicFile.write(bytes, to: path, mode: 0o600)
        } catch {
            throw Self.failed("save \(configuration.name)", error)
        }
    }

    private static func failed(_ what: String, _ error: SystemError) -> ControlError {
        ControlError(
            .configurationReadWriteFailed,
            "Can't \(what).",
            reason: error.description,
            remedy: "Look whether the state directory is full or read-only."
        )
    }

    private func unknown(_ identifier: String) -> ControlError { .configurationUnknown(identifier) }

    private func stale(_ name: String, stored: Int?, given: Int?) -> ControlError {
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
