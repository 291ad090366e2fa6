/// What the block is to be: the variable part of the ruleset.
struct BlockContent: Codable, Hashable, Sendable {
    let permissions: BlockPermissions
    /// The links on which packet sockets are kept from sending: all but the loopback and the tunnels' own.
    let links: [InterfaceIdentity]

    /// Without any member or link: only what every link needs.
    static let nothing = BlockContent([], local: .none, links: [])

    init(_ members: some Collection<BlockMember>, local: LocalNetworks, links: [Link]) {
        permissions = BlockPermissions(members, local: local, links: links)
        let tunnels = Set(permissions.tunnels)
        self.links = links.filter { !$0.isLoopback && !tunnels.contains($0.name) }
            .map { InterfaceIdentity(index: $0.index, name: $0.name) }
            .sorted { $0.index < $1.index }
    }

    /// The sets of both tables with their elements.
    var sets: [BlockSet] {
        [
            BlockSet(.inet, "tunnels", "ifname", permissions.tunnels.map { "\"\($0)\"" }),
            BlockSet(.netdev, "carriers", "ether_type", permissions.carriers),
        ]
            + BlockTable.allCases.flatMap { table in
                [
                    BlockSet(table, "peers4", "ipv4_addr . inet_service", permissions.peers4),
                    BlockSet(table, "peers6", "ipv6_addr . inet_service", permissions.peers6),
                    BlockSet(table, "ports", "inet_service", permissions.ports),
                    BlockSet(table, "gateways", "inet_service", permissions.gateways),
                    BlockSet(table, "lookups", "inet_service", permissions.lookups),
                    BlockSet(table, "local4", "ipv4_addr; flags interval", permissions.local4),
                    BlockSet(table, "local6", "ipv6_addr; flags interval", permissions.local6),
                ]
            }
    }
}

/// Our tables, by their families.
enum BlockTable: String, CaseIterable, Codable, Sendable {
    case inet, netdev

    /// As nftables scripts name it.
    var name: String { "\(rawValue) tunneld" }
}

/// A named set of one of our tables.
struct BlockSet: Hashable, Sendable {
    let table: BlockTable
    let name: String
    let type: String
    let elements: [String]

    init(_ table: BlockTable, _ name: String, _ type: String, _ elements: [String]) {
        self.table = table
        self.name = name
        self.type = type
        self.elements = elements
    }

    var declaration: String {
        let elements = elements.isEmpty ? "" : " elements = { \(elements.joined(separator: ", ")) };"
        return "\tset \(name) { type \(type);\(elements) }\n"
    }

    /// The commands that put these elements in place of those that are there.
    var update: String {
        var text = "flush set \(table.name) \(name)\n"
        if !elements.isEmpty { text += "add element \(table.name) \(name) { \(elements.joined(separator: ", ")) }\n" }
        return text
    }
}
