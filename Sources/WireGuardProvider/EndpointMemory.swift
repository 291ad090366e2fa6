package import NetworkTypes
package import WireGuardCore

/// Which of its addresses each peer was last heard at, for each network that this machine has been in.
///
/// Not every network reaches every address: one has no IPv6, another lets out only to some. Where the machine comes back to
/// a network, the address that worked there is called first.
package struct EndpointMemory: Equatable, Sendable {
    /// The oldest is forgotten.
    static let networkLimit = 32

    /// The oldest first.
    private var networks: [(name: String, winners: [PublicKey: IPAddress])] = []
    private var present: String?

    package init() {}

    package static func == (a: EndpointMemory, b: EndpointMemory) -> Bool {
        a.present == b.present
            && a.networks.elementsEqual(b.networks) { $0.name == $1.name && $0.winners == $1.winners }
    }

    /// The machine is in a network now.
    package mutating func enter(_ network: String) {
        present = network
        let known = networks.first { $0.name == network }?.winners
        networks.removeAll { $0.name == network }
        networks.append((network, known ?? [:]))
        if networks.count > Self.networkLimit { networks.removeFirst() }
    }

    /// A peer was heard at an address, in the present network.
    package mutating func note(_ address: IPAddress, of peer: PublicKey) {
        guard present != nil, let last = networks.indices.last else { return }
        networks[last].winners[peer] = address
    }

    /// Where a peer was heard last in the present network; nil where it never was.
    package func winner(of peer: PublicKey) -> IPAddress? {
        present == nil ? nil : networks.last?.winners[peer]
    }

    /// Forgets a peer that was taken away.
    package mutating func forget(_ peer: PublicKey) {
        for index in networks.indices { networks[index].winners[peer] = nil }
    }
}
