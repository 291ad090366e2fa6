/// What a tunnel changed in the kernel, so that exactly that can be taken back, also by another process.
///
/// An entry is written before its change is made: after a crash it may name what was never made, and taking that back
/// does nothing.
package struct NetworkJournal: Hashable, Sendable, Codable {
    package var version = 1
    /// The tunnel's interface, which is ours too.
    package var interface: InterfaceIdentity?
    package var addresses: [InterfaceAddress] = []
    package var routes: [Route] = []
    package var rules: [RoutingRule] = []
    package var labels: [AddressLabel] = []
    package var dns: DNSRecord?

    package init(interface: InterfaceIdentity? = nil) { self.interface = interface }

    package var isEmpty: Bool {
        interface == nil && addresses.isEmpty && routes.isEmpty && rules.isEmpty && labels.isEmpty && dns == nil
    }

    /// The tunnel's own table: the one that its rules look in.
    var ownTable: UInt32? { routes.lazy.compactMap { Ownership.ownTable(besides: $0.table) }.first }

    /// The first of the tunnel's rule priorities.
    var rulePriority: UInt32? {
        rules.lazy.compactMap { Ownership.block(ofPriority: $0.priority) }.min().map {
            Ownership.priorities.lowerBound + $0 * Ownership.priorityBlock
        }
    }

    /// What the journal must say while the plan is being carried out.
    func adding(_ plan: NetworkPlan, on interface: InterfaceIdentity) -> NetworkJournal {
        var journal = self
        journal.interface = interface
        journal.addresses = addresses.adding(plan.addresses)
        journal.routes = routes.adding(plan.routes)
        journal.rules = rules.adding(plan.rules)
        journal.labels = labels.adding(plan.labels)
        return journal
    }

    /// What it says when the plan is in force.
    func replacing(with plan: NetworkPlan, on interface: InterfaceIdentity) -> NetworkJournal {
        var journal = self
        journal.interface = interface
        journal.addresses = plan.addresses
        journal.routes = plan.routes
        journal.rules = plan.rules
        journal.labels = plan.labels
        return journal
    }
}

extension NetworkJournal {
    /// What a journal of an earlier version doesn't name wasn't made.
    package init(from decoder: any Decoder) throws {
        let c = try decoder.container(keyedBy: CodingKeys.self)
        version = try c.decode(Int.self, forKey: .version)
        interface = try c.decodeIfPresent(InterfaceIdentity.self, forKey: .interface)
        addresses = try c.decode([InterfaceAddress].self, forKey: .addresses)
        routes = try c.decode([Route].self, forKey: .routes)
        rules = try c.decode([RoutingRule].self, forKey: .rules)
        labels = try c.decodeIfPresent([AddressLabel].self, forKey: .labels) ?? []
        dns = try c.decodeIfPresent(DNSRecord.self, forKey: .dns)
    }
}

extension Array where Element: Hashable {
    fileprivate func adding(_ others: [Element]) -> [Element] {
        let present = Set(self)
        return self + others.filter { !present.contains($0) }
    }
}
