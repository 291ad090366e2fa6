package import ControlAPI
import HostNetwork
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// What a client sees of the tunnel, read when it is asked for.
extension Tunnel {
    /// How long a status waits for the provider, and how long for one that has just left another waiting in vain: a
    /// command asks twice, and shall be answered within 2 s.
    static let statusPatience = Interval.milliseconds(1500)
    private static let shortPatience = Interval.milliseconds(250)
    private static let justNow = Interval.seconds(10)
    /// A provider that has left so many calls unanswered gets no further question: each has its price.
    private static let questionLimit = 8

    /// The state now: the provider and the kernel are asked.
    ///
    /// - Parameter stored: what is in the store.
    package func view(of stored: Configuration) async -> SessionView {
        let (state, session, isAnswered) = await askedState()
        let reading = await interfaceReading()
        var condition = condition
        if !isAnswered {
            condition.failure = nil
            condition.reason = "The provider doesn't answer."
            if condition.status == .connected { condition.status = .reasserting }
        } else if let session {
            // Not taken as an event: what the provider tells by itself, in order, is still to come.
            let problem = interfaceProblem(reading?.state)
            condition = self.condition(ifTold: state, problem: problem, of: session)
        }
        var view = view(of: stored, condition, state, reading?.applied, reading?.dns, readAt: .now())
        view.counters = reading.flatMap(counters)
        view.lostRoutes = reading?.lostRoutes ?? []
        view.yieldedRoutes = await yielded(reading?.yields ?? [])
        view.nestedIn = await outerName()
        view.notes += Self.notes(on: view.yieldedRoutes)
        // It may have another name since it was made, and nobody has told yet.
        if view.interface != nil, let name = reading?.name { view.interface = name }
        return view
    }

    /// What another tunnel carries, but for one that is nested in this: its packets come here all the same.
    private func yielded(_ yields: [(prefix: String, interface: String)]) async -> [YieldedRoute] {
        var routes: [YieldedRoute] = []
        for (prefix, interface) in yields {
            let winner = services.running.tunnel(withInterface: interface)
            if let winner, let configuration = await services.store.configuration(winner.identifier),
                await services.store.chain(of: configuration).contains(where: { $0.identifier == identifier })
            {
                continue
            }
            routes.append(
                YieldedRoute(
                    prefix: prefix,
                    identifier: winner?.identifier,
                    name: winner?.name,
                    interface: interface
                )
            )
        }
        return routes
    }

    private static func notes(on routes: [YieldedRoute]) -> [String] {
        var winners: [String] = []
        for route in routes where !winners.contains(route.interface) { winners.append(route.interface) }
        return winners.map { winner in
            let own = routes.filter { $0.interface == winner }
            let prefixes = own.map(\.prefix).joined(separator: ", ")
            let name = own.first?.name ?? winner
            return
                "The tunnel \(name) has \(prefixes) now, for it came later or enforces its routes; when it ends, this one has "
                + "that again."
        }
    }

    /// What the provider says now; where there is none to ask, what it told last.
    ///
    /// - Returns: beside it, the session that was asked about, nil for none, and whether there was an answer in time.
    private func askedState() async -> (state: ProviderState?, session: String?, isAnswered: Bool) {
        guard isReady, let session = live?.session else { return (live?.state, nil, true) }
        guard let connection = live?.connection else { return (live?.state, session, true) }
        let process = live?.provider?.identity
        let isKnownSilent = silence.map { $0.process == process && Instant.now() < $0.at + Self.justNow } ?? false
        do {
            guard await connection.calls.unanswered < Self.questionLimit else {
                throw ControlError(.timedOut, "The provider is behind with its answers.")
            }
            let reply = try await ask(
                "Status",
                as: ProviderCalls.StatusReply.self,
                timeout: isKnownSilent ? Self.shortPatience : Self.statusPatience,
                over: connection
            )
            silence = nil
            if live?.provider?.identity == process { live?.count(reply.state) }
            return (reply.state, session, true)
        } catch {
            // Where it ended meanwhile, or another one took its place, that is what is so.
            guard isReady, live?.session == session, live?.provider?.identity == process else {
                return (live?.state, nil, true)
            }
            silence = process.map { ($0, .now()) }
            // What it said last may be untrue by now, so none of it is shown.
            return (nil, session, false)
        }
    }

    /// What there is of the interface, at a moment when nothing is being changed: else what we take away ourselves
    /// would be told as taken by others.
    private func interfaceReading() async -> InterfaceReading? {
        while true {
            let turn = networkTurn
            await turn?.value
            guard let record = live?.record, let interface = live?.interface else { return nil }
            let reading = await services.network.read(interface, record.applied, record.network)
            if networkTurn == turn { return reading }
        }
    }

    /// The state as it was told last, without the counters.
    func viewAsKnown(of stored: Configuration, readAt: Timestamp) -> SessionView {
        view(of: stored, condition, live?.state, live?.record.applied, live?.record.applied?.dns, readAt: readAt)
    }

    private func view(
        of stored: Configuration,
        _ condition: TunnelMachine.Condition,
        _ state: ProviderState?,
        _ applied: AppliedNetwork?,
        _ appliedDNS: AppliedDNS?,
        readAt: Timestamp
    ) -> SessionView {
        var view = SessionView(
            identifier: identifier,
            name: stored.name,
            status: condition.status,
            readAt: readAt
        )
        view.since = condition.status == self.condition.status ? statusSince : readAt
        view.session = condition.session
        view.lastDisconnectError = condition.error
        view.enabled = stored.enabled
        view.generation = stored.generation
        view.stage = condition.stage
        view.reason = condition.reason
        view.failure = condition.failure
        view.notes = ConfigurationNotes.notInForce(stored)
        view.block = BlockText.view(services.block.status, of: stored, isRunning: condition.session != nil)
        guard let live, live.session == condition.session else { return view }
        let record = live.record
        view.generation = record.configuration.generation
        view.newerConfigurationWaiting = record.notInForce != nil
        view.notInForce = record.notInForce
        view.interface = live.interface?.name
        view.providerProcess = live.provider.map { Int($0.identity.pid) }
        view.providerLosses = record.providerLosses
        view.peers = live.counted(state?.peers ?? [])
        view.publicKey = state?.publicKey
        view.listenPort = state?.listenPort ?? record.listenPort
        view.addresses = applied?.addresses ?? []
        view.routes = applied?.routes ?? []
        view.mtu = applied?.mtu
        view.notes =
            [record.notInForce?.sentence, record.renaming].compactMap(\.self)
            + ConfigurationNotes.notInForce(record.configuration) + record.notes
            + (applied?.notes ?? [])
            + (state?.notes ?? [])
        if let note = ConfigurationNotes.onPeers(record.configuration, state) { view.notes.append(note) }
        view.dns = dns(record, appliedDNS)
        if let note = view.dns?.note { view.notes.append(note) }
        return view
    }

    /// The counters and the peers, now.
    package func statistics() async -> SessionsCalls.StatisticsReply {
        let state = await askedState().state
        var reading: InterfaceReading?
        // Without the settings in force nobody need look for what is lost of them.
        if let record = live?.record, let interface = live?.interface {
            reading = await services.network.read(interface, nil, record.network)
        }
        return SessionsCalls.StatisticsReply(
            identifier: identifier,
            readAt: .now(),
            counters: reading.flatMap(counters),
            peers: live?.counted(state?.peers ?? []) ?? []
        )
    }

    private func counters(_ reading: InterfaceReading) -> CountersView? {
        guard let since = live?.record.interfaceSince, let counters = reading.counters else { return nil }
        return CountersView(
            receivedBytes: counters.receivedBytes,
            sentBytes: counters.sentBytes,
            receivedPackets: counters.receivedPackets,
            sentPackets: counters.sentPackets,
            receivedDropped: counters.receivedDropped,
            sentDropped: counters.sentDropped,
            since: since
        )
    }

    private func dns(_ record: SessionRecord, _ applied: AppliedDNS?) -> DNSView? {
        guard var dns = record.settings?.dns, !dns.isEmpty else { return nil }
        dns.applied = applied?.backend != nil
        dns.backend = applied?.backend
        dns.effective = dns.applied ? applied?.isEffective : nil
        dns.note = applied?.note
        return dns
    }
}
