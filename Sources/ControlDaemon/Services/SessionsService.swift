import ControlAPI
import HostNetwork
import Journal
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// Answers `org.tunneld.Sessions`.
struct SessionsService: Sendable {
    let store: ConfigurationStore
    let catalogue: ProviderCatalogue
    let tunnels: Tunnels
    let hub: EventHub
    let permission: Permission
    let log: Logger

    func register(_ service: inout VarlinkService) {
        let interface = SessionsCalls.interface
        service.on("\(interface).Start") { try await start($0, $1) }
        service.on("\(interface).Stop") { try await stop($0, $1) }
        service.on("\(interface).Status") { try await status($0) }
        service.on("\(interface).List") { try await list($0) }
        service.on("\(interface).Statistics") { try await statistics($0, $1) }
        service.on("\(interface).SendMessage") { try await sendMessage($0, $1) }
        service.onMore("\(interface).Monitor") { try await monitor($0) }
    }

    private func start(
        _ parameters: SessionsCalls.StartParameters,
        _ request: VarlinkRequest
    ) async throws -> SessionsCalls.StartReply {
        let caller = Caller(request.caller)
        let configuration = try await visible(parameters.identifier, to: caller)
        try await permission.check(.control, on: configuration.owner, by: caller, "start \(configuration.name)")
        try checkStart(of: configuration, parameters.generation)
        if let provider = configuration.provider { _ = try await catalogue.descriptor(provider.identifier) }
        let tunnel = await tunnels.tunnel(of: configuration)
        // Asked again, now that a removal would find the tunnel: what starts is what is stored.
        let newest = try await visible(parameters.identifier, to: caller)
        try checkStart(of: newest, parameters.generation)
        try await store.checkNestingToStart(newest)
        let reply = try await tunnel.start(newest, options: parameters.options)
        log.info(
            "User \(caller.user) starts \(configuration.name).",
            [.tunnelID(configuration.identifier)]
        )
        for note in ConfigurationNotes.notInForce(newest) {
            log.warning("\(newest.name): \(note)", [.tunnelID(newest.identifier)])
        }
        return reply
    }

    private func checkStart(of configuration: Configuration, _ generation: Int?) throws(ControlError) {
        if let generation, generation != configuration.generation {
            throw ControlError(
                .configurationStale,
                "Can't start \(configuration.name): the copy is stale.",
                reason: "Generation \(generation) was loaded; generation \(configuration.generation) is stored.",
                remedy: "Load the configuration again, then start it."
            )
        }
        guard configuration.enabled else {
            throw ControlError(
                .configurationDisabled,
                "Can't start \(configuration.name): it is disabled.",
                remedy: "Enable it first: `\(TunnelctlCommand.text("enable", configuration.name))`."
            )
        }
    }

    private func stop(
        _ parameters: SessionsCalls.StopParameters,
        _ request: VarlinkRequest
    ) async throws -> NoParameters {
        let caller = Caller(request.caller)
        let configuration = try await visible(parameters.identifier, to: caller)
        try await permission.check(.control, on: configuration.owner, by: caller, "stop \(configuration.name)")
        log.info("User \(caller.user) stops \(configuration.name).", [.tunnelID(configuration.identifier)])
        let tunnel = await tunnels.existing(parameters.identifier)
        await tunnel?.stop(session: parameters.session, reason: "User \(caller.user) stopped it.")
        if tunnels.blocks.status.holders[parameters.identifier] != nil {
            await tunnels.tunnel(of: configuration).liftBlock(session: parameters.session)
        }
        return NoParameters()
    }

    private func statistics(
        _ parameters: SessionsCalls.StatusParameters,
        _ request: VarlinkRequest
    ) async throws -> SessionsCalls.StatisticsReply {
        guard let identifier = parameters.identifier else { throw VarlinkError.invalidParameter("identifier") }
        _ = try await visible(identifier, to: Caller(request.caller))
        guard let tunnel = await tunnels.existing(identifier) else {
            return SessionsCalls.StatisticsReply(identifier: identifier, readAt: .now(), counters: nil, peers: [])
        }
        return await tunnel.statistics()
    }

    // MARK: Views

    func view(_ configuration: Configuration) async -> SessionView {
        if let tunnel = await tunnels.existing(configuration.identifier) { return await tunnel.view(of: configuration) }
        var view = SessionView(
            identifier: configuration.identifier,
            name: configuration.name,
            status: .disconnected,
            readAt: .now()
        )
        view.enabled = configuration.enabled
        view.generation = configuration.generation
        view.notes = ConfigurationNotes.notInForce(configuration)
        view.block = BlockText.view(tunnels.blocks.status, of: configuration, isRunning: false)
        return view
    }

    /// All at once, in the same order: one provider that doesn't answer holds up the reply only once.
    func views(_ configurations: [Configuration]) async -> [SessionView] {
        await withTaskGroup(of: (Int, SessionView).self) { group in
            for (index, configuration) in configurations.enumerated() {
                group.addTask { (index, await view(configuration)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func visible(_ identifier: String, to caller: Caller) async throws(ControlError) -> Configuration {
        guard let configuration = await store.configuration(identifier), permission.maySee(configuration.owner, caller)
        else { throw .configurationUnknown(identifier) }
        return configuration
    }
}
