import HostNetwork
import NetworkTypes

extension AppliedNetwork {
    /// These settings as they are, after somebody else took some away.
    ///
    /// - Parameters:
    ///   - journal: what was put in force for them.
    ///   - mtu: the interface's own.
    func without(_ losses: NetworkLosses, of journal: NetworkJournal, mtu: Int) -> AppliedNetwork {
        var present = self
        present.mtu = mtu
        let lostAddresses = Set(losses.addresses.map(\.description))
        let lostRoutes = Set(losses.routes.map(\.description))
        let ownRoutes = Set(journal.routes.map(\.destination.description))
        present.addresses.removeAll { lostAddresses.contains($0) }
        // Some prefixes lead into the tunnel by the network of an address alone, and go with it.
        let left = present.addresses.compactMap { IPPrefix($0)?.network }
        let gone = losses.addresses.map(\.network)
        present.routes.removeAll { text in
            if ownRoutes.contains(text) { return lostRoutes.contains(text) }
            guard let route = IPPrefix(text) else { return false }
            return gone.contains { Self.covers($0, route) } && !left.contains { Self.covers($0, route) }
        }
        present.notes += losses.addresses.map { "The address \($0) was taken from the interface from outside." }
        present.notes += losses.routes.map { "The route to \($0) was removed from outside." }
        if mtu != self.mtu { present.notes.append("The MTU was \(self.mtu), and was changed to \(mtu) from outside.") }
        return present
    }

    private static func covers(_ network: IPPrefix, _ route: IPPrefix) -> Bool {
        network.length <= route.length && network.contains(route.address)
    }
}
