/// The state of one configuration's tunnel, as it was at `readAt`: the document of `tunnelctl status NAME --json`
/// (design, section 9).
package struct SessionView: Codable, Equatable, Sendable {
    package var identifier: String
    package var name: String
    package var status: TunnelStatus
    /// When the status became what it is; null before the first session.
    package var since: Timestamp?
    /// The name of the TUN device.
    package var interface: String?
    package var readAt: Timestamp
    /// The identifier of the present session; null when disconnected.
    package var session: String?
    /// The process id of the provider.
    package var providerProcess: Int?
    /// Null where the session's first provider runs.
    package var providerLosses: ProviderLossesView?
    package var lastDisconnectError: ControlError?
    package var peers: [PeerView]
    package var counters: CountersView?

    package var enabled: Bool
    /// The generation that runs, or of the stored configuration when disconnected.
    package var generation: Int
    package var newerConfigurationWaiting: Bool
    /// What waits, and why it isn't in force.
    package var notInForce: NotInForceView?
    package var stage: StartStage?
    /// Why the status is what it is, in one sentence.
    package var reason: String?
    /// Of the peer that keeps the tunnel from being connected.
    package var failure: FailureView?
    package var publicKey: String?
    package var listenPort: Int?
    package var addresses: [String]
    package var routes: [String]
    /// Prefixes that ought to lead into the tunnel, and don't: what was taken away or diverted from outside.
    package var lostRoutes: [String]
    /// Prefixes of this tunnel that another one carries now.
    package var yieldedRoutes: [YieldedRoute]
    /// The name of the tunnel that its outer packets go through; null where they go outside of all.
    package var nestedIn: String?
    package var mtu: Int?
    package var dns: DNSView?
    /// Null where traffic isn't blocked, nor is to be.
    package var block: BlockView?
    /// What a person should know: a feature that is off and why.
    package var notes: [String]

    package init(identifier: String, name: String, status: TunnelStatus, readAt: Timestamp) {
        self.identifier = identifier
        self.name = name
        self.status = status
        self.readAt = readAt
        peers = []
        enabled = true
        generation = 0
        newerConfigurationWaiting = false
        addresses = []
        routes = []
        lostRoutes = []
        yieldedRoutes = []
        notes = []
    }
}

extension SessionView {
    private enum CodingKeys: String, CodingKey {
        case identifier, name, status, since, interface, readAt, session, providerProcess, providerLosses
        case lastDisconnectError, peers, counters, enabled, generation, newerConfigurationWaiting, notInForce, stage,
            reason, failure, publicKey
        case listenPort, addresses, routes, lostRoutes, yieldedRoutes, nestedIn, mtu, dns, block, notes
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(name, forKey: .name)
        try c.encode(status, forKey: .status)
        try c.encode(since, forKey: .since)
        try c.encode(interface, forKey: .interface)
        try c.encode(readAt, forKey: .readAt)
        try c.encode(session, forKey: .session)
        try c.encode(providerProcess, forKey: .providerProcess)
        try c.encode(providerLosses, forKey: .providerLosses)
        try c.encode(lastDisconnectError, forKey: .lastDisconnectError)
        try c.encode(peers, forKey: .peers)
        try c.encode(counters, forKey: .counters)
        try c.encode(enabled, forKey: .enabled)
        try c.encode(generation, forKey: .generation)
        try c.encode(newerConfigurationWaiting, forKey: .newerConfigurationWaiting)
        try c.encode(notInForce, forKey: .notInForce)
        try c.encode(stage, forKey: .stage)
        try c.encode(reason, forKey: .reason)
        try c.encode(failure, forKey: .failure)
        try c.encode(publicKey, forKey: .publicKey)
        try c.encode(listenPort, forKey: .listenPort)
        try c.encode(addresses, forKey: .addresses)
        try c.encode(routes, forKey: .routes)
        try c.encode(lostRoutes, forKey: .lostRoutes)
        try c.encode(yieldedRoutes, forKey: .yieldedRoutes)
        try c.encode(nestedIn, forKey: .nestedIn)
        try c.encode(mtu, forKey: .mtu)
        try c.encode(dns, forKey: .dns)
        try c.encode(block, forKey: .block)
        try c.encode(notes, forKey: .notes)
    }
}

/// Traffic inside the tunnel, as the kernel counts it at the interface; a super-packet counts once.
package struct CountersView: Codable, Equatable, Sendable {
    package var receivedBytes: UInt64
    package var sentBytes: UInt64
    package var receivedPackets: UInt64
    package var sentPackets: UInt64
    package var receivedDropped: UInt64
    package var sentDropped: UInt64
    /// When the interface was made: the counters start at 0 then (their epoch).
    package var since: Timestamp
    /// Always true: an interface's counters don't say what reached the peer.
    package var estimate: Bool

    package init(
        receivedBytes: UInt64,
        sentBytes: UInt64,
        receivedPackets: UInt64,
        sentPackets: UInt64,
        receivedDropped: UInt64,
        sentDropped: UInt64,
        since: Timestamp
    ) {
        self.receivedBytes = receivedBytes
        self.sentBytes = sentBytes
        self.receivedPackets = receivedPackets
        self.sentPackets = sentPackets
        self.receivedDropped = receivedDropped
        self.sentDropped = sentDropped
        self.since = since
        estimate = true
    }
}

/// The name servers that a configuration asks for, and whether programs use them.
package struct DNSView: Codable, Equatable, Sendable {
    package var servers: [String]
    package var searchDomains: [String]
    package var routeOnlyDomains: [String]
    /// `no`, `opportunistic` or `yes`; null: no.
    package var dnsOverTLS: String?
    /// `no`, `allow-downgrade` or `yes`; null: no.
    package var dnssec: String?
    /// Whether they were put in force.
    package var applied: Bool
    /// What was told of them: `systemd-resolved`, `resolvconf` or `resolv.conf`; null where nothing was.
    package var backend: String?
    /// Whether programs ask them, as it was found when the view was read; null where they aren't in force.
    package var effective: Bool?
    /// "DNS not applied: …", "DNS not effective: …", or what else deserves a look.
    package var note: String?

    package init(
        servers: [String],
        searchDomains: [String],
        routeOnlyDomains: [String],
        dnsOverTLS: String? = nil,
        dnssec: String? = nil,
        applied: Bool = false,
        note: String? = nil
    ) {
        self.servers = servers
        self.searchDomains = searchDomains
        self.routeOnlyDomains = routeOnlyDomains
        self.dnsOverTLS = dnsOverTLS
        self.dnssec = dnssec
        self.applied = applied
        self.note = note
    }

    package var isEmpty: Bool { servers.isEmpty && searchDomains.isEmpty && routeOnlyDomains.isEmpty }
}

extension DNSView {
    private enum CodingKeys: String, CodingKey {
        case servers, searchDomains, routeOnlyDomains, dnsOverTLS, dnssec, applied, backend, effective, note
    }

    /// Every key stands in the document.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(servers, forKey: .servers)
        try c.encode(searchDomains, forKey: .searchDomains)
        try c.encode(routeOnlyDomains, forKey: .routeOnlyDomains)
        try c.encode(dnsOverTLS, forKey: .dnsOverTLS)
        try c.encode(dnssec, forKey: .dnssec)
        try c.encode(applied, forKey: .applied)
        try c.encode(backend, forKey: .backend)
        try c.encode(effective, forKey: .effective)
        try c.encode(note, forKey: .note)
    }
}
