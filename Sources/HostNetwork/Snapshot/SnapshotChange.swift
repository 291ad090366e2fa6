import NetworkTypes

/// One difference between two snapshots.
package struct SnapshotChange: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case linkAdded, linkRemoved, linkRenamed, linkUp, linkDown, carrierFound, carrierLost, mtuChanged
        case addressAdded, addressRemoved
        case nameServersChanged, meteredChanged, wirelessNameChanged
        case defaultRoutesChanged, primaryLinkChanged
    }

    package var kind: Kind
    /// The link's name; nil for what concerns the machine.
    package var interface: String?
    /// What it is now, or what came or went; nil where the kind says it all.
    package var value: String?

    package init(_ kind: Kind, _ interface: String? = nil, _ value: String? = nil) {
        self.kind = kind
        self.interface = interface
        self.value = value
    }

    /// What is different, links first, in the order of their numbers.
    package static func between(_ old: NetworkSnapshot, _ new: NetworkSnapshot) -> [SnapshotChange] {
        let before = Dictionary(old.links.map { ($0.index, $0) }, uniquingKeysWith: { a, _ in a })
        let after = Dictionary(new.links.map { ($0.index, $0) }, uniquingKeysWith: { a, _ in a })
        var changes = old.links.filter { after[$0.index] == nil }.map { SnapshotChange(.linkRemoved, $0.name) }
        for link in new.links {
            if let earlier = before[link.index] {
                changes += between(earlier, link)
            } else {
                changes.append(SnapshotChange(.linkAdded, link.name))
            }
        }
        if old.nameServers != new.nameServers {
            changes.append(SnapshotChange(.nameServersChanged, nil, text(new.nameServers)))
        }
        if old.defaultRoutes != new.defaultRoutes {
            let routes = new.defaultRoutes.map { text($0, new) }.joined(separator: ", ")
            changes.append(SnapshotChange(.defaultRoutesChanged, nil, routes))
        }
        if old.primaryLink?.index != new.primaryLink?.index {
            changes.append(SnapshotChange(.primaryLinkChanged, new.primaryLink?.name))
        }
        return changes
    }

    private static func between(_ old: NetworkLink, _ new: NetworkLink) -> [SnapshotChange] {
        guard old != new else { return [] }
        var changes: [SnapshotChange] = []
        if old.name != new.name { changes.append(SnapshotChange(.linkRenamed, new.name, old.name)) }
        if old.isUp != new.isUp { changes.append(SnapshotChange(new.isUp ? .linkUp : .linkDown, new.name)) }
        if old.hasCarrier != new.hasCarrier {
            changes.append(SnapshotChange(new.hasCarrier ? .carrierFound : .carrierLost, new.name))
        }
        if old.mtu != new.mtu { changes.append(SnapshotChange(.mtuChanged, new.name, "\(new.mtu)")) }
        for address in old.addresses where !new.addresses.contains(address) {
            changes.append(SnapshotChange(.addressRemoved, new.name, address.description))
        }
        for address in new.addresses where !old.addresses.contains(address) {
            changes.append(SnapshotChange(.addressAdded, new.name, address.description))
        }
        if old.nameServers != new.nameServers {
            changes.append(SnapshotChange(.nameServersChanged, new.name, text(new.nameServers)))
        }
        if old.isMetered != new.isMetered {
            changes.append(SnapshotChange(.meteredChanged, new.name, new.isMetered.map { $0 ? "yes" : "no" }))
        }
        if old.wirelessName != new.wirelessName {
            changes.append(SnapshotChange(.wirelessNameChanged, new.name, new.wirelessName))
        }
        return changes
    }

    private static func text(_ servers: NameServers) -> String {
        servers.servers.map(\.description).joined(separator: ", ")
    }

    private static func text(_ route: DefaultRoute, _ snapshot: NetworkSnapshot) -> String {
        let link = snapshot.link(route.interface)?.name ?? "\(route.interface)"
        let family = route.isIPv6 ? "IPv6" : "IPv4"
        let way = route.gateway.map { " via \($0)" } ?? ""
        return "\(family) by \(link)\(way) metric \(route.metric)"
    }
}
