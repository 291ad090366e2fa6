import ControlAPI
import EventLoop
import HostNetwork
import Keychain
import Journal
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// From nothing to a ready tunnel. What was made stands in `live` and in the journal before the next step begins, so that
/// `tearDown` finds it, whenever this is cut short.
extension Tunnel {
    /// Brings the session up to where the provider's own state counts.
    func bringUp(_ session: String) async throws {
        step = "write the session's journal"
        try saveRecord()
        step = "find the tunnel that it is nested in"
        try await services.store.checkNestingToStart(configuration())
        step = "block traffic outside of the tunnel"
        try await permitWhatIsKnown()
        let secrets = try secretsBundle()
        await services.store.pin(StoreContents.references(in: try configuration()), by: session)
        if try wantsDNS() {
            step = "find out how name servers are set here"
            try await services.network.checkDNS()
        }
        try await launch(user: nil)
        take(.stage(.providerStarted), of: session)
        let interface = try await makeInterface()
        var labelled = try openSockets()
        try await permitWhatIsKnown()
        step = "open /dev/net/tun"
        labelled[DescriptorLabel.tunNode] = try services.network.openNode()
        labelled[DescriptorLabel.wg] = makeWGSocket(interface.name)
        try saveRecord()
        labelled[DescriptorLabel.secrets] = secrets
        let settings = try await startProvider(labelled)
        step = "receive the TUN device's descriptor"
        try await receiveTun()
        guard let connection = live?.connection else { throw Self.sessionEnded }
        try await applySettings(settings, over: connection)
        readDescriptors()
    }

    func configuration() throws(ControlError) -> Configuration {
        guard let configuration = live?.record.configuration else { throw Self.sessionEnded }
        return configuration
    }

    /// By convention, since this is asked before the provider has read its configuration.
    private func wantsDNS() throws(ControlError) -> Bool {
        let dns = try configuration().provider?.configuration["dns"]
        return ["servers", "searchDomains", "routeOnlyDomains"].contains { dns?[$0]?.array?.isEmpty == false }
    }

    static let sessionEnded = ControlError(.notRunning, "The session has ended.")

    func saveRecord() throws {
        guard let live else { return }
        noteRunning()
        try live.file.write(live.record)
    }

    /// Has other tunnels know this one by its name and its interface.
    func noteRunning() {
        guard let record = live?.record else { return }
        services.running.note(identifier, RunningTunnels.Running(record))
    }

    /// The secrets that the configuration refers to.
    ///
    /// - Throws: `secretUnavailable`, which never removes anything.
    func secretsBundle() throws(ControlError) -> SharedDescriptor {
        step = "read the secrets"
        let configuration = try configuration()
        do throws(KeychainError) {
            let references = StoreContents.references(in: configuration)
            return try services.keychain.sealedBundle(of: references, ownedBy: configuration.owner.user)
        } catch {
            throw ControlError(
                .secretUnavailable,
                "A secret of \(configuration.name) can't be had.",
                reason: error.sentence,
                remedy: "The configuration is unchanged. \(error.remedy)"
            )
        }
    }

    // MARK: The provider

    /// Starts a provider's process and takes control of it.
    func launch(user: UInt32?) async throws {
        step = "start the provider"
        let configuration = try configuration()
        guard let nonce = live?.record.nonce, let provider = configuration.provider else { throw Self.sessionEnded }
        let descriptor = try await services.catalogue.descriptor(provider.identifier)
        let launched = try await services.launcher.launch(
            ProviderLaunch(descriptor: descriptor, identifier: identifier, nonce: nonce, user: user)
        )
        live?.provider = launched
        live?.record.user = launched.user
        live?.record.process = SessionRecord.Process(launched.identity)
        watch(launched)
        try saveRecord()
        log.info("Started provider \(provider.identifier) as process \(launched.identity.pid), user \(launched.user).")
        try await attach(launched)
    }

    /// Takes control of a provider that runs.
    ///
    /// - Returns: its state.
    @discardableResult
    func attach(
        _ launched: LaunchedProvider,
        patience: Interval? = nil
    ) async throws -> ProviderState {
        guard let session = live?.session, let nonce = live?.record.nonce else { throw Self.sessionEnded }
        let connection = try await ProviderConnection.open(launched, patience: patience) { step = $0 }
        live?.connection = connection
        step = "attach to the provider"
        let replies = try await connection.attach(
            epoch: services.epoch,
            nonce: nonce,
            patience: patience ?? ProviderConnection.patience
        ).makeAsyncIterator()
        guard let first = try await next(replies), let state = first.state else {
            throw ControlError(.providerFailed, "The tunnel's provider doesn't say what it does.")
        }
        live?.state = state
        keepEndpoints(state)
        read(replies, of: session)
        return state
    }

    private func next(_ replies: ReplyStream.Iterator) async throws -> ProviderCalls.AttachReply? {
        do {
            return try await replies.next()?.decode()
        } catch {
            throw ProviderConnection.explained(error, "attach to it")
        }
    }

    /// Hands everything over and has the provider start.
    ///
    /// - Returns: the network settings that it wants.
    func startProvider(_ labelled: [String: SharedDescriptor]) async throws -> NetworkSettingsDocument {
        step = "have the provider start"
        let configuration = try configuration()
        guard let live, let connection = live.connection, let provider = configuration.provider,
            let interface = live.interface
        else { throw Self.sessionEnded }
        // What couldn't be written counts all the same.
        let kept = [services.timestamps.timestamp(of: identifier), live.keptTimestamp].compactMap(\.self).max()
        self.live?.keptTimestamp = kept
        try await connection.send(labelled)
        let network = await services.network.path(to: [], by: .outside, from: nil)?.network
        let parameters = ProviderCalls.StartParameters(
            identifier: identifier,
            name: configuration.name,
            session: live.session,
            interface: interface.name,
            configuration: provider.configuration,
            lastTimestamp: kept,
            descriptors: labelled.keys.sorted(),
            listenPort: live.record.listenPort ?? 0,
            endpointHints: live.endpoints.isEmpty ? nil : live.endpoints,
            peerCounters: live.peerCounters.isEmpty ? nil : live.peerCounters,
            options: live.options,
            network: network
        )
        let reply = try await connection.call(
            "Start",
            parameters,
            as: ProviderCalls.SettingsReply.self,
            // The limit is the start's own, which a sleep of the machine can have begun anew.
            timeout: services.startTimeout * 2
        )
        for (label, descriptor) in labelled where Self.keptLabels.contains(label) {
            self.live?.descriptors[label] = descriptor
        }
        return reply.settings
    }

    /// What a new provider can go on with.
    static let keptLabels: Set<String> = [
        DescriptorLabel.tun, DescriptorLabel.udp4, DescriptorLabel.udp6, DescriptorLabel.wg, DescriptorLabel.changes,
    ]

    func receiveTun() async throws {
        guard let connection = live?.connection else { throw Self.sessionEnded }
        while let message = try await connection.descriptors.receive() {
            keep(message)
            if let tun = live?.descriptors[DescriptorLabel.tun] { return try services.network.release(tun) }
        }
        throw ControlError(.providerFailed, "The tunnel's provider closed its descriptor socket.")
    }

    func keep(_ message: DescriptorChannel.Message) {
        let label = String(decoding: message.label, as: UTF8.self)
        guard Self.keptLabels.contains(label), let descriptor = message.descriptors.first else { return }
        live?.descriptors[label] = descriptor
        if label == DescriptorLabel.changes { keepChanges(descriptor) } else { watchWorkAnew() }
    }

    // MARK: Interface and sockets

    private func makeInterface() async throws -> InterfaceIdentity {
        step = "make the interface"
        let configuration = try configuration()
        guard let user = live?.record.user else { throw Self.sessionEnded }
        let name = try await services.network.interfaceName(for: configuration)
        return try await makeInterface(name, owner: user)
    }

    /// Makes the interface; what else is in force for the tunnel, such as its rules, stays.
    func makeInterface(_ name: String, owner user: UInt32) async throws -> InterfaceIdentity {
        live?.record.interface = name
        live?.record.network.interface = nil
        live?.record.interfaceSince = .now()
        live?.peerCounters = [:]
        try saveRecord()
        // Before there is a device, which would else be taken for a link of the machine's.
        try await permitWhatIsKnown()
        let interface = try await services.network.makeDevice(name, owner: user)
        live?.record.network.interface = interface
        try saveRecord()
        return interface
    }

    /// - Parameter preferred: the port that peers know; another one is better than none.
    func openSockets(preferring preferred: Int? = nil) throws -> [String: SharedDescriptor] {
        step = "open the outer sockets"
        // By convention, since the sockets are there before the provider has read its configuration.
        let port = Int(try configuration().provider?.configuration["listenPort"]?.integer ?? 0)
        let same = preferred.flatMap { try? services.network.openSockets(port: $0) }
        let sockets = try same ?? services.network.openSockets(port: port)
        live?.record.listenPort = sockets.port
        if let note = sockets.note { self.note(note) }
        return sockets.labelled
    }

    /// The socket for `wg`; without it the tunnel works all the same, and says so.
    func makeWGSocket(_ interface: String) -> SharedDescriptor? {
        step = "make the wg socket"
        do throws(UnixListenerError) {
            let (descriptor, record) = try WGSocket.make(interface: interface, in: services.wgFolder)
            live?.record.wgSocket = record
            return descriptor
        } catch {
            log.warning("wg can't show this tunnel, going on without its socket: \(error)")
            note("wg can't show this tunnel: \(error).")
            return nil
        }
    }

    /// Keeps what a person should know of the session, once.
    func note(_ text: String) {
        if live?.record.notes.contains(text) == false { live?.record.notes.append(text) }
    }

    // MARK: Network settings

    /// Puts the settings in force and tells the provider.
    func applySettings(_ settings: NetworkSettingsDocument, over connection: ProviderConnection) async throws {
        step = "apply the network settings"
        let mtu = try await putInForce(settings)
        try await permitWhatIsKnown()
        step = "tell the provider that it is ready"
        let parameters = ProviderCalls.SettingsAppliedParameters(mtu: mtu)
        _ = try await ask("SettingsApplied", parameters, timeout: ProviderConnection.patience, over: connection)
    }

    /// Puts the settings in force, after whatever does so already: each change begins with the journal of the last.
    ///
    /// - Parameters:
    ///   - settings: nil: those that are in force then, once more.
    ///   - restoring: puts back what others took away of them, as much of it as can be.
    /// - Returns: the interface's MTU.
    @discardableResult
    func putInForce(_ settings: NetworkSettingsDocument?, restoring: Bool = false) async throws -> Int {
        guard let session = live?.session else { throw Self.sessionEnded }
        let before = networkTurn
        let turn = Task {
            await before?.value
            return try await self.putInForceNow(settings, session, restoring)
        }
        networkTurn = Task { _ = try? await turn.value }
        return try await turn.value
    }

    private func putInForceNow(
        _ settings: NetworkSettingsDocument?,
        _ session: String,
        _ restoring: Bool
    ) async throws -> Int {
        guard !isStopping, let live, live.session == session, let interface = live.interface,
            let settings = settings ?? live.record.settings
        else { throw Self.sessionEnded }
        var complete = settings
        // Those that a name stands for, and where the peers were heard.
        for endpoint in live.calledEndpoints where !complete.endpoints.contains(endpoint) {
            complete.endpoints.append(endpoint)
        }
        complete.pathLimits = live.state?.pathLimits
        let file = live.file
        let applied: AppliedNetwork
        let passage = await outerPassage()
        let outside = TunnelSurroundings(
            passage: passage,
            othersEndpoints: services.running.endpoints(besides: identifier)
        )
        do {
            let (done, network) = try await services.network.apply(
                complete,
                policy: live.policy,
                outside: outside,
                to: interface,
                port: live.record.listenPort,
                restoring: restoring,
                journal: live.record.network
            ) { network in try file.write(changing: network) }
            applied = done
            _ = file.endChange()
            guard self.live?.session == session else { throw Self.sessionEnded }
            self.live?.record.network = network
        } catch {
            // What couldn't be taken back again stands in what was written last.
            if let network = file.endChange(), self.live?.session == session { self.live?.record.network = network }
            throw error
        }
        self.live?.record.settings = settings
        self.live?.record.applied = applied
        self.live?.record.endpoints = complete.endpoints
        self.live?.outside = outside
        try saveRecord()
        return applied.mtu
    }
}
