import ControlAPI
import Journal
import LinuxSystem
import VarlinkSocket

/// What an earlier tunneld's session becomes when another one starts.
extension Tunnel {
    /// Goes on with a session whose provider lives, or undoes it.
    func resume(_ record: SessionRecord) async {
        live = LiveSession(record: record)
        nextConfiguration = record.configuration
        live?.keptTimestamp = services.timestamps.timestamp(of: identifier)
        await services.store.pin(StoreContents.references(in: record.configuration), by: record.session)
        do {
            let state = try await takeControl(record)
            if let interface = live?.interface { services.network.claim(interface) }
            adopt(state, statusBefore: record.status, since: record.since)
            log.notice("\(record.configuration.name): went on with provider process \(record.process?.pid ?? 0).")
            await checkInterface()
        } catch {
            log.error("\(record.configuration.name): the session can't be gone on with: \(error)")
            await tearDown(record.session)
            live = nil
            noteFailure(error)
        }
    }

    /// Takes what the provider handed over on attaching: it has by the time that it answers another call.
    private func takeDescriptors() async throws {
        guard let connection = live?.connection else { throw Self.sessionEnded }
        _ = try await connection.call("Ping")
        for message in await connection.descriptors.receiveWaiting() { keep(message) }
    }

    private func takeControl(_ record: SessionRecord) async throws(ControlError) -> ProviderState {
        guard let user = record.user, let process = record.process?.identity, let descriptor = process.open() else {
            throw ControlError(
                .providerFailed,
                "The tunnel of \(record.configuration.name) ended while tunneld didn't run.",
                reason: "Its provider isn't there any more.",
                remedy: "Start it again: \(TunnelctlCommand.text("up", record.configuration.name))."
            )
        }
        let provider = LaunchedProvider(
            process: descriptor,
            identity: process,
            user: user,
            folder: services.launcher.folder(of: identifier)
        )
        live?.provider = provider
        watch(provider)
        do {
            let state = try await attach(provider)
            guard state.phase == .ready, record.applied != nil else {
                throw ControlError(
                    .providerFailed,
                    "The tunnel of \(record.configuration.name) was being started when tunneld ended.",
                    remedy: "Start it again: \(TunnelctlCommand.text("up", record.configuration.name))."
                )
            }
            try await takeDescriptors()
            readDescriptors()
            return state
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError(.providerFailed, "The tunnel's provider can't be controlled.", reason: "\(error)")
        }
    }
}
