import NetworkTypes

/// What may pass besides what every link needs, of all members together.
struct BlockPermissions: Codable, Hashable, Sendable {
    /// The tunnels' interfaces.
    let tunnels: [String]
    let peers4: [String]
    let peers6: [String]
    /// The ports of all outer sockets.
    let ports: [String]
    /// Those from which any address may be answered.
    let gateways: [String]
    /// The port of name servers, where names are to be looked up.
    let lookups: [String]
    let local4: [String]
    let local6: [String]
    /// Frames that carry another link's packets, which are judged on that link (`ETH_P_*`, linux/if_ether.h).
    let carriers: [String]

    /// - Parameters:
    ///   - local: what the machine is attached to; counts where every holder permits it.
    ///   - links: all of the machine's.
    init(_ members: some Collection<BlockMember>, local: LocalNetworks, links: [Link]) {
        tunnels = Set(members.compactMap(\.interface)).sorted()
        let peers = members.reduce(into: Set<String>()) { $0.formUnion($1.peers) }.compactMap { Endpoint($0) }
        peers4 = peers.filter { !$0.address.isIPv6 }.map(Self.element).sorted()
        peers6 = peers.filter(\.address.isIPv6).map(Self.element).sorted()
        ports = Set(members.compactMap(\.port)).sorted().map(String.init)
        gateways = Set(members.filter(\.isGateway).compactMap(\.port)).sorted().map(String.init)
        lookups = members.contains(where: \.looksUpNames) ? ["53"] : []
        let isLocalPermitted = members.filter(\.holds).allSatisfy(\.permitsLocalNetworks)
        let networks = isLocalPermitted ? local.prefixes + LocalNetworks.groups : []
        local4 = networks.filter { !$0.address.isIPv6 }.map(\.description)
        local6 = networks.filter(\.address.isIPv6).map(\.description)
        var carriers: [String] = []
        if links.contains(where: { $0.kind == "ppp" }) { carriers += ["0x8863", "0x8864"] }
        if links.contains(where: { $0.kind == "macsec" }) { carriers += ["0x88e5"] }
        self.carriers = carriers
    }

    private static func element(_ endpoint: Endpoint) -> String { "\(endpoint.address) . \(endpoint.port)" }
}
