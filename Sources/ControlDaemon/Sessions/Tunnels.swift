package import ControlAPI
import Journal
import LinuxSystem

/// The tunnels of all configurations that have had a session since tunneld started.
package actor Tunnels {
    let services: TunnelServices
    private var all: [String: Tunnel] = [:]
    nonisolated let blocks: BlockKeeper

    package init(_ services: TunnelServices) {
        self.services = services
        blocks = BlockKeeper(
            block: services.block,
            store: services.store,
            state: services.store.directories.state,
            log: services.log
        )
    }

    /// The tunnel of a configuration; made at its first start.
    package func tunnel(of configuration: Configuration) -> Tunnel {
        if let tunnel = all[configuration.identifier] { return tunnel }
        let tunnel = Tunnel(configuration, services)
        all[configuration.identifier] = tunnel
        return tunnel
    }

    /// All that there are, by identifier.
    package func allExisting() -> [String: Tunnel] { all }

    package func existing(_ identifier: String) -> Tunnel? { all[identifier] }

    /// Forgets a tunnel whose configuration is removed.
    package func forget(_ identifier: String) {
        all[identifier] = nil
        services.timestamps.remove(identifier)
        services.lastErrors.remove(identifier)
    }

    /// Tells every running tunnel that the network changed.
    package func pathChanged() async {
        await forEach { await $0.pathChanged() }
    }

    /// Has every running tunnel get ready for a sleep of the machine.
    package func prepareForSleep() async {
        await forEach { await $0.prepareForSleep() }
    }

    /// Tells every running tunnel that the machine woke up.
    package func wake() async {
        await forEach { await $0.wake() }
    }

    /// Has every running tunnel look whether its interface is still there and up.
    package func interfacesChanged() async {
        await forEach { await $0.checkInterface() }
    }

    /// Has every running tunnel look whether others took something of its settings away, and put it back.
    package func settingsChanged() async {
        await forEach { await $0.mend(isFresh: true) }
    }

    /// Lets go of all providers, which go on.
    package func abandonAll() async {
        await forEach { await $0.abandon() }
        await services.block.abandon()
    }

    /// Tells every running tunnel that is nested in this one that something became of it.
    func changed(_ identifier: String) async {
        await forEach { await $0.otherTunnelChanged(identifier) }
    }

    /// All at once: one that waits for its provider holds up no other.
    private func forEach(_ body: @escaping @Sendable (Tunnel) async -> Void) async {
        await withTaskGroup { group in
            for tunnel in all.values { group.addTask { await body(tunnel) } }
        }
    }

    /// Goes on with the sessions of an earlier tunneld, and takes back what is left of those that ended meanwhile.
    package func resumeAll() async throws {
        let (records, damaged) = try services.journal.records()
        for path in damaged {
            services.log.error("The session journal \(path) can't be understood; what it names stays on the machine.")
        }
        // First: whatever is found out about the sessions, nothing shall leak meanwhile.
        await blocks.resume(records)
        // Before any of them asks for the one that it is nested in.
        for record in records { services.running.note(record.configuration.identifier, .init(record)) }
        services.running.onChange { [weak self] identifier in Task { await self?.changed(identifier) } }
        await withTaskGroup { group in
            for record in records {
                let tunnel = tunnel(of: record.configuration)
                group.addTask { await tunnel.resume(record) }
            }
        }
        for record in records where await services.store.configuration(record.configuration.identifier) == nil {
            all[record.configuration.identifier] = nil
            services.hub.publishConfiguration(record.configuration, isRemoval: true)
        }
        let known = Set(records.map(\.configuration.identifier))
        for (identifier, record) in services.lastErrors.all() where !known.contains(identifier) {
            if let configuration = await services.store.configuration(identifier) {
                await tunnel(of: configuration).recall(record, configuration)
            } else {
                services.lastErrors.remove(identifier)
            }
        }
        for identifier in services.launcher.identifiers() where !known.contains(identifier) {
            await services.launcher.clear(identifier, user: nil)
        }
    }
}
