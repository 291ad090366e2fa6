import ControlAPI
import EventLoop
import HostNetwork
import LinuxSystem
import NetworkTypes

/// Everything that a running session holds and must give back.
struct LiveSession: Sendable {
    var record: SessionRecord
    let file: SessionFile
    var provider: LaunchedProvider?
    /// Tells when the provider's process ends.
    var watch: DescriptorSource?
    var connection: ProviderConnection?
    /// Tells that packets wait for the provider.
    var workWatch: WorkWatch?
    /// Read what the provider sends.
    var readers: [Task<Void, Never>] = []
    /// Duplicates of what the provider works with, by label; a new provider gets them.
    var descriptors: [String: SharedDescriptor] = [:]
    /// What the client that started it gave along; not kept, for nobody knows what is in it.
    var options: [String: JSONValue]?
    /// What the provider told last.
    var state: ProviderState?
    /// Whether all that it told has been read, to the end of its stream.
    var isHeardOut = true
    /// The newest timestamp that is kept.
    var keptTimestamp: String?
    /// How the provider's process ended, once that was collected.
    var providerEnd: ProcessEnd?
    /// Tells whether the kernel killed it for lack of memory.
    var memoryKills: MemoryKills?
    /// Why what others took away of the network settings isn't put back; nil where it is, or nothing was.
    var mendProblem: String?
    /// What was known of other tunnels when the settings were put in force last.
    var outside = TunnelSurroundings()
    /// The ways that its outer packets took when they were looked at last; nil before.
    var path: OuterPath?
    /// Looks at them again when what a router said of one runs out.
    var pathRecheck: Task<Void, Never>?
    /// Endpoints that were authenticated, by public key: for a new provider to call at once.
    var endpoints: [String: String] = [:]
    /// What it counted of each peer, by public key, as far as that was told: another provider at the same interface goes
    /// on from there.
    var peerCounters: [String: ProviderCalls.PeerCounters] = [:]
    /// Whether it was told that what a provider learns can't be kept.
    var isMemoryLossTold = false
    /// What the block was told last to let pass.
    var permitted: BlockMember?
    /// What the configuration that is stored, and not in force yet, has blocked.
    var stricter: BlockMember?
    /// Endpoints that were found by look-ups.
    var lookedUp: Set<String> = []
    /// Requests of the provider's that are being answered.
    var openRequests = 0

    /// How its routes stand to others': what its configuration says, or the one that it is being changed to.
    var policy: RoutingPolicy

    init(record: SessionRecord, in journal: SessionJournal) {
        policy = RoutingPolicy(record.configuration)
        self.record = record
        file = SessionFile(journal, record)
    }

    var session: String { record.session }
    var interface: InterfaceIdentity? { record.network.interface }

    /// Where the peers are called that have an endpoint by configuration, as far as the provider has told.
    var calledEndpoints: [String] {
        (state?.peers ?? []).filter { $0.configuredEndpoint != nil }.compactMap(\.endpoint)
    }

    /// What the provider found the paths to addresses to carry, where nobody else says so.
    var pathLimits: [IPAddress: Int] {
        var limits: [IPAddress: Int] = [:]
        for (text, limit) in state?.pathLimits ?? [:] { if let address = IPAddress(text) { limits[address] = limit } }
        return limits
    }

    /// Takes note of where a provider says that its peers were heard.
    ///
    /// A new provider has heard nobody yet, so what the one before knew stays, for as long as the peer does.
    ///
    /// - Returns: whether that is news.
    mutating func remember(_ state: ProviderState) -> Bool {
        guard state.phase == .ready else { return false }
        let before = endpoints
        let peers = Set(state.peers.map(\.publicKey))
        endpoints = endpoints.filter { peers.contains($0.key) }
        for peer in state.peers where peer.lastHeard != nil { endpoints[peer.publicKey] = peer.endpoint }
        count(state)
        return endpoints != before
    }

    /// Peers with the newest counters that were told: those of a state that was told before may be older.
    func counted(_ peers: [PeerView]) -> [PeerView] {
        peers.map { peer in
            var peer = peer
            if let counters = peerCounters[peer.publicKey] {
                peer.receivedBytes = counters.receivedBytes
                peer.sentBytes = counters.sentBytes
            }
            return peer
        }
    }

    /// Takes note of what a provider says that it has counted.
    mutating func count(_ state: ProviderState) {
        guard state.phase == .ready else { return }
        peerCounters = [:]
        for peer in state.peers where peer.receivedBytes > 0 || peer.sentBytes > 0 {
            peerCounters[peer.publicKey] = .init(receivedBytes: peer.receivedBytes, sentBytes: peer.sentBytes)
        }
    }
}
