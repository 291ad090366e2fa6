package import NetworkTypes

/// What the tunnel of one configuration needs to pass while traffic is blocked, and whether the block stands for it.
package struct BlockMember: Codable, Hashable, Sendable {
    /// Whether traffic outside of the tunnels is blocked as long as this member is there.
    package var holds: Bool
    /// The configuration's name and the user that it belongs to, for those who ask what blocks.
    package var name: String
    package var owner: UInt32
    /// The name of the tunnel's interface, once it is known; the device itself may come later.
    package var interface: String?
    /// Where its peers are, each as "192.0.2.1:51820" or "[2001:db8::1]:51820".
    package var peers: Set<String>
    /// The UDP port of its outer sockets, once they are open.
    package var port: UInt16?
    /// Whether peers without a known address call it, so that from its port any address may be answered.
    package var isGateway: Bool
    /// Whether names of peers have to be looked up outside of the tunnel.
    package var looksUpNames: Bool
    /// Whether the machine's local networks stay reachable.
    package var permitsLocalNetworks: Bool

    package init(holds: Bool, name: String, owner: UInt32) {
        self.holds = holds
        self.name = name
        self.owner = owner
        peers = []
        isGateway = false
        looksUpNames = false
        permitsLocalNetworks = false
    }

    /// Adds where a peer is.
    package mutating func permit(_ endpoint: Endpoint) {
        // A zone is no part of an address in a packet.
        peers.insert(Endpoint(endpoint.address, port: endpoint.port).description)
    }

    /// Takes over what another one blocks beyond this one.
    package mutating func tighten(to other: BlockMember) {
        holds = holds || other.holds
        permitsLocalNetworks = permitsLocalNetworks && other.permitsLocalNetworks
    }
}
