import HostNetwork
import NetworkTypes

extension AppliedNetwork {
    /// These settings as they are, after somebody else took some away or leads traffic round them.
    ///
    /// - Parameter mtu: the interface's own.
    func without(_ losses: NetworkLosses, mtu: Int) -> AppliedNetwork {
        var present = self
        present.mtu = mtu
        let lostAddresses = Set(losses.addresses.map(\.description))
        let lostRoutes = Set(losses.prefixes.map(\.description))
        present.addresses.removeAll { lostAddresses.contains($0) }
        present.routes.removeAll { lostRoutes.contains($0) }
        present.notes += losses.addresses.map { "The address \($0) was taken from the interface from outside." }
        present.notes += losses.routes.map { "The route to \($0) was removed from outside." }
        present.notes += losses.barriers.map {
            "The unreachable route to \($0) was removed from outside: while the interface is down, traffic may leave "
                + "elsewhere."
        }
        present.notes += losses.rules.map {
            "The routing rule \($0.priority) was removed from outside: \($0.consequence)."
        }
        present.notes += losses.passages.map {
            "The way to \($0) into the tunnel that it is nested in was removed from outside: packets to the peers go nowhere."
        }
        present.notes += losses.labels.map {
            "The label of \($0) was removed from outside: packets to the peers may take it as their source."
        }
        present.notes += losses.diversions.map { diversion in
            "Traffic to \(diversion.prefix) doesn't go through the tunnel: a rule or a route from outside sends it "
                + (diversion.interface.map { "to \($0)." } ?? "nowhere.")
        }
        if mtu != self.mtu { present.notes.append("The MTU was \(self.mtu), and was changed to \(mtu) from outside.") }
        return present
    }
}

extension NetworkLosses {
    /// What is missing, an item each: "the route to 10.0.0.0/8".
    var items: [String] {
        addresses.map { "the address \($0)" } + routes.map { "the route to \($0)" }
            + barriers.map { "the unreachable route to \($0)" } + rules.map { "the routing rule \($0.priority)" }
            + passages.map { "the way to \($0) into the tunnel around it" } + labels.map { "the label of \($0)" }
    }
}

extension RoutingRule {
    /// What comes of its not being there.
    fileprivate var consequence: String {
        switch condition {
        case .withoutOuterMark: "traffic to \(destination) doesn't go through the tunnel"
        case .fromOuterPort where priority == Ownership.confinementPriority:
            "packets to the peers may go outside of the tunnel that it is nested in"
        case .always where Ownership.exceptions.contains(priority):
            "traffic to \(destination) may go through the tunnel that is to stay out of it"
        case .always: "networks of other interfaces within \(destination) are not reached directly"
        case .outerPackets: "packets to the peers may leave with a tunnel's address as their source"
        case .fromOuterPort: "the reverse-path filter may drop what the peers send"
        }
    }
}
