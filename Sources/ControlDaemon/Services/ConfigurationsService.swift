import ControlAPI
import Journal
import Keychain
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// Answers `org.tunneld.Configurations`.
struct ConfigurationsService: Sendable {
    let store: ConfigurationStore
    let catalogue: ProviderCatalogue
    let tunnels: Tunnels
    let hub: EventHub
    /// Returns once the block follows every change of the store so far.
    let settled: @Sendable () async -> Void
    let permission: Permission
    let log: Logger

    func register(_ service: inout VarlinkService) {
        let interface = ConfigurationsCalls.interface
        service.on("\(interface).Load") { try await load($0, $1) }
        service.onMore("\(interface).LoadAll") { try await loadAll($0) }
        service.on("\(interface).Save") { try await save($0, $1) }
        service.on("\(interface).Remove") { try await remove($0, $1) }
        service.on("\(interface).History") { try await history($0, $1) }
        service.on("\(interface).Restore") { try await restore($0, $1) }
        service.on("\(interface).Lost") { try await lost($0, $1) }
        service.onMore("\(interface).Watch") { try await watch($0) }
    }

    private func load(
        _ parameters: ConfigurationsCalls.LoadParameters,
        _ request: VarlinkRequest
    ) async throws -> ConfigurationsCalls.LoadReply {
        let caller = Caller(request.caller)
        let configuration = try await visible(parameters.identifier, to: caller)
        let shown = await Disclosure(to: caller, catalogue).shown(configuration)
        return ConfigurationsCalls.LoadReply(configuration: shown, readAt: .now())
    }

    private func loadAll(_ request: VarlinkRequest) async throws {
        let caller = Caller(request.caller)
        let disclosure = await Disclosure(to: caller, catalogue)
        let all = await store.configurations().filter { permission.maySee($0.owner, caller) }.map(disclosure.shown)
        for configuration in all.dropLast() {
            try request.responder.send(ConfigurationsCalls.LoadReply(configuration: configuration, readAt: .now()))
            if request.responder.queuedBytes > 256 << 10 { await request.responder.drained() }
        }
        try request.responder.reply(ConfigurationsCalls.LoadReply(configuration: all.last, readAt: .now()))
    }

    // MARK: Save

    /// The configuration as the client wrote it, so that a fault in it is told by its field.
    private struct SaveRequest: Decodable, Sendable {
        let configuration: JSONValue
        let generation: Int?
        let secrets: [ConfigurationsCalls.SecretDescription]?
    }

    private func save(_ request: SaveRequest, _ call: VarlinkRequest) async throws -> ConfigurationsCalls.SaveReply {
        let caller = Caller(call.caller)
        var configuration = try decode(request.configuration)
        let previous = try await authorize(configuration, caller)
        configuration = await Disclosure(to: caller, catalogue).completed(configuration, from: previous)
        try await resolveNesting(&configuration, for: caller)
        if previous?.name != configuration.name { try ConfigurationRules.checkName(configuration.name) }
        var warnings: [String] = []
        let secrets = request.secrets ?? []
        let descriptor = try await installed(configuration, &warnings)
        let placeholders = Set(secrets.map(\.placeholder))
        let draft = ConfigurationStore.Draft(
            configuration: configuration,
            generation: request.generation,
            secrets: secrets,
            bundle: try bundle(call.descriptors),
            places: descriptor.map { SecretPlaces(keys: $0.secretKeys) }
                ?? SecretPlaces(of: placeholders, in: configuration)
        )
        try await store.check(draft)
        if let descriptor, let provider = configuration.provider, previous?.provider != provider {
            warnings += try await catalogue.validate(provider.configuration, by: descriptor)
        }
        let exclusives = await store.configurations().filter { $0.enabled && $0.exclusive }
        let saved = try await store.save(draft)
        warnings += ConfigurationNotes.onSave(saved, previous: previous)
        warnings += await exclusiveness(of: saved, asked: configuration.exclusive, among: exclusives)
        warnings += await blocked(for: saved)
        if saved.generation != previous?.generation {
            log.info(
                "Saved generation \(saved.generation) of \(saved.name) for user \(caller.user).",
                [.tunnelID(saved.identifier)]
            )
        }
        return ConfigurationsCalls.SaveReply(
            identifier: saved.identifier,
            generation: saved.generation,
            warnings: warnings
        )
    }

    /// Returns once the block is what a configuration that was saved asks for.
    ///
    /// - Returns: that it isn't, where it can't be.
    func blocked(for saved: Configuration) async -> [String] {
        await settled()
        guard tunnels.blocks.lacks(saved) else { return [] }
        return ["Traffic is NOT blocked, though persistentBlock asks for it; the log of tunneld says why."]
    }

    /// What a save did beyond what it was asked for.
    ///
    /// - Parameter exclusives: those that were enabled before.
    private func exclusiveness(
        of saved: Configuration,
        asked: Bool,
        among exclusives: [Configuration]
    ) async -> [String] {
        var notes: [String] = []
        if saved.exclusive, !asked { notes.append("It is exclusive, as everything with includeAllNetworks is.") }
        for other in exclusives where other.identifier != saved.identifier {
            guard await store.configuration(other.identifier)?.enabled == false else { continue }
            notes.append(
                "\(other.name) was switched off: of its owner's exclusive configurations one at most is enabled."
            )
        }
        return notes
    }

    private func decode(_ document: JSONValue) throws(ControlError) -> Configuration {
        try ConfigurationRules.checkDocument(document)
        let configuration: Configuration
        do {
            configuration = try document.decoded()
        } catch let error as DecodingError {
            let field = error.field.isEmpty ? "configuration" : error.field
            throw ControlError.invalid(
                field,
                error.fault,
                "See org.tunneld.Configurations for what it should hold."
            )
        } catch {
            throw ControlError.invalid("configuration", "\(error)", "It should hold an object.")
        }
        try ConfigurationRules.check(configuration)
        return configuration
    }

    /// Puts the identifier of the tunnel that a configuration is nested in in the place of its name, which may change.
    ///
    /// - Throws: `configurationInvalid` for one that the caller can't see.
    private func resolveNesting(_ configuration: inout Configuration, for caller: Caller) async throws(ControlError) {
        guard let reference = configuration.nestedIn else { return }
        let outer = await store.outer(reference, for: configuration.owner)
        // What the caller may not see is as if it weren't there.
        configuration.nestedIn =
            outer.map { permission.maySee($0.owner, caller) ? $0.identifier : reference } ?? reference
    }

    /// - Returns: the stored configuration that is to be replaced.
    private func authorize(
        _ configuration: Configuration,
        _ caller: Caller
    ) async throws(ControlError) -> Configuration? {
        var previous: Configuration?
        if !configuration.identifier.isEmpty {
            let stored = try await visible(configuration.identifier, to: caller)
            try await permission.check(.change, on: stored.owner, by: caller, "change \(stored.name)")
            previous = stored
        }
        try await permission.check(.change, on: configuration.owner, by: caller, "save \(configuration.name)")
        return previous
    }

    /// The configuration's provider; one that isn't installed (yet) is refused at start, not here.
    func installed(
        _ configuration: Configuration,
        _ warnings: inout [String]
    ) async throws(ControlError) -> ProviderDescriptor? {
        guard let provider = configuration.provider else { return nil }
        guard !provider.identifier.isEmpty else {
            throw .invalid(
                "provider.identifier",
                "It is empty.",
                "It should hold a provider's identifier, such as org.tunneld.wireguard."
            )
        }
        do throws(ControlError) {
            return try await catalogue.descriptor(provider.identifier)
        } catch {
            guard error.name == .providerUnknown else { throw error }
            warnings.append(
                [error.message, error.reason, "Its part of the configuration was not checked.", error.remedy]
                    .compactMap(\.self).joined(separator: " ")
            )
            return nil
        }
    }

    private func bundle(_ descriptors: [SharedDescriptor]) throws(ControlError) -> PendingSecrets {
        guard let file = descriptors.first else { return PendingSecrets() }
        do throws(KeychainError) {
            return try PendingSecrets(readingBundle: file)
        } catch {
            throw ControlError(
                .invalidParameter,
                "The configuration can't be saved.",
                reason: error.description,
                field: "secrets"
            )
        }
    }

    // MARK: Remove

    private func remove(
        _ parameters: ConfigurationsCalls.RemoveParameters,
        _ request: VarlinkRequest
    ) async throws -> NoParameters {
        let caller = Caller(request.caller)
        let (configuration, _) = try await known(parameters.identifier, to: caller)
        try await permission.check(.change, on: configuration.owner, by: caller, "remove \(configuration.name)")
        if let generation = parameters.generation, generation != configuration.generation {
            // A stale removal stops nothing.
            try await store.remove(parameters.identifier, generation: generation)
        }
        if let tunnel = await tunnels.existing(parameters.identifier) {
            await tunnel.stop(session: nil)
            await tunnel.idle()
        }
        try await store.remove(parameters.identifier, generation: parameters.generation)
        // A start that had found the configuration before may have come in between.
        await tunnels.existing(parameters.identifier)?.retire()
        await tunnels.forget(parameters.identifier)
        log.info("Removed \(configuration.name) for user \(caller.user).", [.tunnelID(configuration.identifier)])
        return NoParameters()
    }

    func visible(_ identifier: String, to caller: Caller) async throws(ControlError) -> Configuration {
        guard let configuration = await store.configuration(identifier), permission.maySee(configuration.owner, caller)
        else { throw .configurationUnknown(identifier) }
        return configuration
    }
}
