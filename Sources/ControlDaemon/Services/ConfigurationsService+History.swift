import ControlAPI
import Journal
import VarlinkCore
import VarlinkSocket

/// Earlier generations, and lost configurations.
extension ConfigurationsService {
    func history(
        _ parameters: ConfigurationsCalls.LoadParameters,
        _ request: VarlinkRequest
    ) async throws -> ConfigurationsCalls.HistoryReply {
        let known = try await known(parameters.identifier, to: Caller(request.caller))
        return ConfigurationsCalls.HistoryReply(
            identifier: parameters.identifier,
            name: known.last.name,
            generations: await store.generations(of: parameters.identifier),
            lost: known.lost?.reason,
            readAt: .now()
        )
    }

    func restore(
        _ parameters: ConfigurationsCalls.RestoreParameters,
        _ request: VarlinkRequest
    ) async throws -> ConfigurationsCalls.SaveReply {
        let caller = Caller(request.caller)
        let identifier = parameters.identifier
        let (last, lost) = try await known(identifier, to: caller)
        try await permission.check(.change, on: last.owner, by: caller, "restore \(last.name)")
        var draft = try await store.draft(restoring: parameters.generation, of: identifier, loaded: parameters.loaded)
        let owner = draft.configuration.owner
        if owner != last.owner { try await permission.check(.change, on: owner, by: caller, "restore \(last.name)") }
        var warnings: [String] = []
        let descriptor = try await installed(draft.configuration, &warnings)
        draft.places = SecretPlaces(keys: descriptor?.secretKeys ?? [])
        try await store.check(draft)
        if lost != nil { try await store.makeWay(for: identifier) }
        let saved = try await store.save(draft)
        log.notice(
            "User \(caller.user) restored generation \(parameters.generation) of \(saved.name) as generation "
                + "\(saved.generation).",
            [.tunnelID(identifier)]
        )
        return ConfigurationsCalls.SaveReply(
            identifier: identifier,
            generation: saved.generation,
            warnings: warnings + ConfigurationNotes.onSave(saved) + (await blocked(for: saved))
        )
    }

    func lost(_: NoParameters, _ request: VarlinkRequest) async throws -> ConfigurationsCalls.LostReply {
        let caller = Caller(request.caller)
        let all = await store.lostConfigurations().filter { permission.maySee($0.last.owner, caller) }
        return ConfigurationsCalls.LostReply(
            configurations: all.map {
                ConfigurationsCalls.Lost(
                    identifier: $0.last.identifier,
                    name: $0.last.name,
                    owner: $0.last.owner,
                    generation: $0.last.generation,
                    reason: $0.reason
                )
            }
        )
    }

    /// A configuration that the caller may know of, also one that is lost.
    func known(
        _ identifier: String,
        to caller: Caller
    ) async throws(ControlError) -> (last: Configuration, lost: LostConfiguration?) {
        guard let known = await store.known(identifier), permission.maySee(known.last.owner, caller) else {
            throw .configurationUnknown(identifier)
        }
        return known
    }
}
