import ControlAPI
import Journal
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// What an earlier tunneld's session becomes when another one starts.
extension Tunnel {
    /// How long a provider may take to answer a new tunneld, whose start waits for it.
    private static let attachPatience = Interval.seconds(3)

    /// Goes on with a session, with its provider or another one, or undoes it.
    func resume(_ record: SessionRecord) async {
        live = LiveSession(record: record, in: services.journal)
        nextConfiguration = record.configuration
        noteRunning()
        live?.keptTimestamp = services.timestamps.timestamp(of: identifier)
        live?.endpoints = services.memory.endpoints(of: identifier, in: record.session)
        await services.store.pin(StoreContents.references(in: record.configuration), by: record.session)
        // Nobody could see or stop it; while tunneld runs, it ends with its configuration, too.
        guard let stored = await services.store.configuration(identifier) else {
            log.error(
                "\(record.configuration.name): its configuration is gone, so its tunnel is ended. "
                    + "\(TunnelctlCommand.text("history", record.configuration.identifier)) shows what can be restored."
                    + (record.configuration.includeAllNetworks ? " \(blockWords(record.configuration))" : "")
            )
            live?.provider = provider(of: record)
            return await undo(record, nil, isUnasked: true)
        }
        // The one who did it may have been told so, and tunneld had no time for the rest.
        guard stored.enabled else {
            log.notice("\(record.configuration.name): ending its session, since the configuration was disabled.")
            live?.provider = provider(of: record)
            return await undo(record, record.ending ?? .init(error: nil, reason: "The configuration was disabled."))
        }
        // Whoever stopped it was told so.
        guard record.status != .disconnecting else {
            log.notice("\(record.configuration.name): ending the session that tunneld was ending.")
            live?.provider = provider(of: record)
            return await undo(record, record.ending)
        }
        do {
            let state = try await takeControl(record)
            await claimInterface()
            adopt(state, statusBefore: record.status, since: record.since)
            log.notice("\(record.configuration.name): went on with provider process \(record.process?.pid ?? 0).")
            await permitNews()
            await checkInterface()
            // Nobody told it of what happened meanwhile.
            await pathChanged()
            await takeOverWhatWasSaved()
        } catch {
            await goOn(record, after: error)
        }
    }

    /// What becomes of a session whose provider is gone, or can't be controlled.
    private func goOn(_ record: SessionRecord, after error: ControlError) async {
        let name = record.configuration.name
        if error.name == .versionMismatch {
            await live?.connection?.close()
            live?.connection = nil
            await claimInterface()
            log.warning("\(name): the provider runs on without being asked: \(error)")
            let process = live?.provider.map { ", process \($0.identity.pid)," } ?? ""
            leave(
                reason: "Its provider\(process) runs on, but can't be asked. \(error.reason ?? error.message) "
                    + "To have the installed one: \(TunnelctlCommand.text("down", name)), then up."
            )
        } else if record.applied != nil, record.isOfThisBoot {
            // Its routes stand, so that nothing leaks until the next provider is there.
            log.warning("\(name): another provider is to go on with the session: \(error)")
            await claimInterface()
            recover(error)
        } else {
            log.error("\(name): the session can't be gone on with: \(error)")
            await undo(record, SessionRecord.Ending(error: error))
        }
    }

    private func blockWords(_ configuration: Configuration) -> String {
        "Its traffic stays blocked, until it is restored and stopped, or given up: "
            + "\(TunnelctlCommand.text("remove", configuration.identifier))"
    }

    private func undo(_ record: SessionRecord, _ ending: SessionRecord.Ending?, isUnasked: Bool? = nil) async {
        guard await tearDown(record.session, isUnasked: isUnasked ?? ending?.isUnasked ?? false) else { return }
        live = nil
        noteEnd(ending)
    }

    private func claimInterface() async {
        guard let live, let interface = live.interface else { return }
        services.network.claim(interface)
        guard let settings = live.record.settings else { return }
        await services.network.adoptDNS(settings, live.policy, live.record.network)
    }

    private func provider(of record: SessionRecord) -> LaunchedProvider? {
        guard let user = record.user, let process = record.process?.identity, let descriptor = process.open() else {
            return nil
        }
        return LaunchedProvider(
            process: descriptor,
            identity: process,
            user: user,
            folder: services.launcher.folder(of: identifier)
        )
    }

    /// Takes what the provider handed over on attaching: it has by the time that it answers another call.
    private func takeDescriptors() async throws {
        guard let connection = live?.connection else { throw Self.sessionEnded }
        guard await connection.answers(within: Self.statusPatience) else {
            throw ControlError(.timedOut, "The tunnel's provider doesn't answer.")
        }
        for message in await connection.descriptors.receiveWaiting() { keep(message) }
    }

    /// tunneld ended before there was a provider to go on with.
    private static func interrupted(_ record: SessionRecord) -> ControlError {
        let name = record.configuration.name
        return ControlError(
            .providerFailed,
            record.applied == nil
                ? "The tunnel of \(name) was being started when tunneld ended."
                : "The tunnel's provider was being replaced when tunneld ended.",
            remedy: "Start it again: \(TunnelctlCommand.text("up", name))."
        )
    }

    private func takeControl(_ record: SessionRecord) async throws(ControlError) -> ProviderState {
        guard let provider = provider(of: record) else {
            guard record.process != nil else { throw Self.interrupted(record) }
            throw ControlError(
                .providerFailed,
                "The tunnel's provider ended while tunneld didn't run.",
                remedy: "Start it again: \(TunnelctlCommand.text("up", record.configuration.name))."
            )
        }
        live?.provider = provider
        watch(provider)
        do {
            let state = try await attach(provider, patience: Self.attachPatience)
            guard state.phase == .ready, record.applied != nil else { throw Self.interrupted(record) }
            try await takeDescriptors()
            readDescriptors()
            // It may have ended meanwhile, and nobody will be told of that again.
            if let error = endOfProvider(after: nil) { throw error }
            return state
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError(.providerFailed, "The tunnel's provider can't be controlled.", reason: "\(error)")
        }
    }
}
