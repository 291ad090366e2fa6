import ControlAPI
import FoundationEssentials
import HostNetwork
import Journal
import Keychain
import LinuxSystem
import NetworkTypes

/// Another provider in place of one that was lost, and another configuration in place of the one that runs.
extension Tunnel {
    /// Starts a provider that goes on with the old one's descriptors: same interface, same port, same routes.
    ///
    /// Where the interface is gone it is made anew, and the counters begin anew with it; the sockets too, where provider and
    /// tunneld ended together.
    func relaunch(_ session: String) async throws {
        guard let old = live?.record else { throw Self.sessionEnded }
        step = "end the old provider"
        // No two may work with the same device: the old one's death is certain before the new one is started.
        let process = live?.provider?.identity.pid
        guard await endProvider(graceful: false) else {
            throw ControlError(
                .providerFailed,
                "The tunnel's provider can't be replaced: the old one doesn't end.",
                reason: "Process \(process ?? 0) was killed, and the kernel holds it still.",
                remedy: "See whether it is frozen by its control group, or waits for a disk."
            )
        }
        // What it started has its descriptors too; and there may be one that tunneld didn't live to write down.
        await services.launcher.clear(identifier, user: old.user)
        // What is still being put in force is so for the old interface.
        await networkTurn?.value
        live?.record.process = nil
        live?.record.nonce = UUID().uuidString.lowercased()
        live?.providerEnd = nil
        live?.state?.error = nil
        try saveRecord()
        let secrets = try secretsBundle()
        try await launch(user: old.user)
        let isNew = try await replaceInterfaceIfGone()
        try replaceSocketsIfGone()
        try await permitWhatIsKnown()
        recallChanges()
        guard var labelled = live?.descriptors else { throw Self.sessionEnded }
        labelled[DescriptorLabel.secrets] = secrets
        if isNew { labelled[DescriptorLabel.tunNode] = try services.network.openNode() }
        let settings = try await startProvider(labelled)
        if isNew { try await receiveTun() }
        guard let connection = live?.connection else { throw Self.sessionEnded }
        try await applySettings(settings, over: connection)
        readDescriptors()
    }

    /// Opens the sockets that nobody holds any more, with the same port if it is to be had.
    private func replaceSocketsIfGone() throws {
        guard let live else { throw Self.sessionEnded }
        if live.descriptors[DescriptorLabel.udp4] == nil, live.descriptors[DescriptorLabel.udp6] == nil {
            let sockets = try openSockets(preferring: live.record.listenPort)
            self.live?.descriptors.merge(sockets) { $1 }
        }
        // Where it could not be made at the start, that was told.
        guard live.descriptors[DescriptorLabel.wg] == nil, let old = live.record.wgSocket,
            let interface = live.record.interface
        else { return }
        old.remove()
        self.live?.record.wgSocket = nil
        let socket = makeWGSocket(interface)
        self.live?.descriptors[DescriptorLabel.wg] = socket
    }

    // MARK: Another configuration

    /// Takes what is stored over into the running session, as far as that is possible live.
    package func configurationChanged() async {
        isUpdateWanted = true
        guard !isUpdating else { return }
        isUpdating = true
        var applied: Configuration?
        while isUpdateWanted {
            isUpdateWanted = false
            // The newest, whatever the order in which its changes are told; and once, however often.
            if let stored = await services.store.configuration(identifier), stored != applied {
                await applyUpdate(stored)
                applied = stored
            }
        }
        isUpdating = false
    }

    private func applyUpdate(_ configuration: Configuration) async {
        guard let session = live?.session, let running = live?.record.configuration, running != configuration else {
            return await loosen(to: configuration)
        }
        let policy = RoutingPolicy(configuration)
        if running.provider == configuration.provider, live?.policy == policy || live?.record.applied == nil {
            live?.policy = policy
            live?.record.configuration = configuration
            live?.record.notInForce = nil
        } else {
            let before = live?.policy
            live?.policy = policy
            do {
                if running.provider == configuration.provider {
                    try await putInForce(nil)
                    guard live?.session == session else { return }
                    live?.record.configuration = configuration
                } else {
                    try await changeProvider(to: configuration)
                }
                live?.record.notInForce = nil
                log.info("Generation \(configuration.generation) of \(configuration.name) is in force.")
            } catch {
                guard live?.session == session else { return }
                if let before { live?.policy = before }
                // With another provider's configuration it has been put back already, together with the provider.
                if running.provider == configuration.provider { await putBackInForce(running) }
                let notInForce = Self.notInForce(configuration.generation, error)
                live?.record.notInForce = notInForce
                log.notice("\(configuration.name): \(notInForce.sentence)")
            }
        }
        // The block may be wanted now, or not any more.
        await loosen(to: configuration)
        do { try saveRecord() } catch { log.warning("The session's journal can't be written, going on: \(error)") }
    }

    /// What a change of the policy left half done; the settings are those that ran before.
    private func putBackInForce(_ running: Configuration) async {
        do { try await putInForce(nil) } catch {
            log.warning("The network settings of \(running.name) can't be put back as they were: \(error)")
        }
    }

    private static func notInForce(_ generation: Int, _ error: any Error) -> NotInForceView {
        let error = error as? ControlError ?? ControlError(.internalError, "It can't be applied: \(error).")
        return NotInForceView(
            generation: generation,
            reason: [error.message, error.reason, error.remedy].compactMap(\.self).joined(separator: " ")
        )
    }

    /// Has the provider and the network change over to a configuration, or neither.
    private func changeProvider(to configuration: Configuration) async throws {
        guard isReady, let live, let connection = live.connection, let provider = configuration.provider else {
            throw ControlError(.unavailable, "The tunnel isn't ready.")
        }
        guard provider.identifier == live.record.configuration.provider?.identifier else {
            throw ControlError(.unavailable, "Another provider can't take over a running tunnel.")
        }
        do {
            try await applySettings(try await update(provider, of: configuration, over: connection), over: connection)
        } catch {
            // Wherever it failed, provider and network go back together.
            let running = live.record.configuration
            self.live?.policy = RoutingPolicy(running)
            do {
                if isReady, self.live?.provider?.identity == live.provider?.identity, let provider = running.provider {
                    let settings = try await update(provider, of: running, over: connection)
                    try await applySettings(settings, over: connection)
                }
            } catch {
                log.warning("The provider of \(running.name) can't be given its former configuration back: \(error)")
            }
            throw error
        }
        guard isReady, self.live?.provider?.identity == live.provider?.identity else { throw Self.sessionEnded }
        self.live?.record.configuration = configuration
        await services.store.pin(StoreContents.references(in: configuration), by: live.session)
    }

    /// Hands a configuration to the provider that runs.
    ///
    /// - Returns: the network settings that it wants now.
    private func update(
        _ provider: Configuration.Provider,
        of configuration: Configuration,
        over connection: ProviderConnection
    ) async throws -> NetworkSettingsDocument {
        let references = StoreContents.references(in: configuration)
        let secrets = try services.keychain.sealedBundle(of: references, ownedBy: configuration.owner.user)
        try await connection.send([DescriptorLabel.secrets: secrets])
        return try await ask(
            "UpdateConfiguration",
            ProviderCalls.UpdateParameters(
                configuration: provider.configuration,
                descriptors: [DescriptorLabel.secrets]
            ),
            as: ProviderCalls.SettingsReply.self,
            timeout: ProviderConnection.patience,
            over: connection
        ).settings
    }

    // MARK: The network

    /// Has the rules name the networks that the machine is attached to now.
    func followSurroundings() async {
        guard keepsNetwork, let live, live.policy.followsSurroundings, live.record.applied != nil else { return }
        do {
            try await putInForce(nil)
        } catch {
            guard keepsNetwork, self.live?.session == live.session else { return }
            log.warning("The rules for the networks around can't be changed, keeping the old ones: \(error)")
        }
    }
}
