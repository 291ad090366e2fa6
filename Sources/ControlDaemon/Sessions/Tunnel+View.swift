package import ControlAPI
import HostNetwork
import LinuxSystem
import NetworkTypes

/// What a client sees of the tunnel, read when it is asked for.
extension Tunnel {
    /// How long a status waits for the provider.
    static let statusPatience = Interval.seconds(2)

    /// The state now: the provider and the kernel are asked.
    ///
    /// - Parameter stored: what is in the store.
    package func view(of stored: Configuration) async -> SessionView {
        var condition = condition
        var state = live?.state
        if isReady, let connection = live?.connection, let session = live?.session {
            do {
                state = try await connection.call(
                    "Status",
                    as: ProviderCalls.StatusReply.self,
                    timeout: Self.statusPatience
                ).state
                // Not taken as an event: what the provider tells by itself, in order, is still to come.
                let problem = await interfaceProblem()
                condition = self.condition(ifTold: state, problem: problem, of: session)
            } catch {
                // What it said last may be untrue by now, so none of it is shown.
                state = nil
                condition = self.condition
                condition.failure = nil
                condition.reason = "The provider doesn't answer."
                if condition.status == .connected { condition.status = .reasserting }
            }
        }
        let applied = await appliedNow()
        var view = view(of: stored, condition, state, applied, readAt: .now())
        view.counters = await counters()
        return view
    }

    /// What of the network settings is in force now; as it was put in force where the kernel can't be asked.
    private func appliedNow() async -> AppliedNetwork? {
        guard let record = live?.record, let applied = record.applied, let interface = live?.interface else {
            return live?.record.applied
        }
        return await services.network.present(applied, record.network, on: interface) ?? applied
    }

    /// The state as it was told last, without the counters.
    func viewAsKnown(of stored: Configuration, readAt: Timestamp) -> SessionView {
        view(of: stored, condition, live?.state, live?.record.applied, readAt: readAt)
    }

    private func view(
        of stored: Configuration,
        _ condition: TunnelMachine.Condition,
        _ state: ProviderState?,
        _ applied: AppliedNetwork?,
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
        guard let live, live.session == condition.session else { return view }
        let record = live.record
        view.generation = record.configuration.generation
        view.newerConfigurationWaiting = record.newerConfigurationWaiting
        view.interface = live.interface?.name
        view.providerProcess = live.provider.map { Int($0.identity.pid) }
        view.peers = state?.peers ?? []
        view.publicKey = state?.publicKey
        view.listenPort = state?.listenPort ?? record.listenPort
        view.addresses = applied?.addresses ?? []
        view.routes = applied?.routes ?? []
        view.mtu = applied?.mtu
        view.notes =
            ConfigurationNotes.notInForce(record.configuration) + record.notes + (applied?.notes ?? [])
            + (state?.notes ?? [])
        view.dns = dns(record)
        if let note = view.dns?.note { view.notes.append(note) }
        return view
    }

    /// The counters and the peers, now.
    package func statistics(of stored: Configuration) async -> SessionsCalls.StatisticsReply {
        let view = await view(of: stored)
        return SessionsCalls.StatisticsReply(
            identifier: identifier,
            readAt: view.readAt,
            counters: view.counters,
            peers: view.peers
        )
    }

    private func counters() async -> CountersView? {
        guard let interface = live?.interface, let since = live?.record.interfaceSince,
            let counters = await services.network.counters(of: interface)
        else { return nil }
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

    private func dns(_ record: SessionRecord) -> DNSView? {
        guard var dns = record.settings?.dns else { return nil }
        guard !dns.servers.isEmpty || !dns.searchDomains.isEmpty || !dns.routeOnlyDomains.isEmpty else { return nil }
        dns.applied = false
        dns.note = "DNS not applied: this version of tunneld leaves name servers alone."
        return dns
    }
}
