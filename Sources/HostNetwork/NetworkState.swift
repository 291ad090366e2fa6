import CShims
import Glibc
import Netlink
import NetworkTypes

/// What stands in the kernel already, as far as a tunnel is concerned.
struct NetworkState: Sendable {
    let link: Link
    let addresses: [InterfaceAddress]
    /// The addresses that we put there.
    let journalledAddresses: Set<IPPrefix>
    /// Our routes into the interface or in the tunnel's own table.
    let routes: [Route]
    /// The rules that the journal names and that are there.
    let rules: [RoutingRule]
    /// Our labels that the journal names and that are there; nil where the kernel has none.
    let labels: [AddressLabel]?
    /// Networks of the interface's addresses to which the kernel's own route is missing, although the interface is up.
    let unroutedNetworks: Set<IPPrefix>
    /// Everybody's rules.
    let allRules: [KernelRule]
    /// The other links' own networks: their names and prefixes.
    private let neighbours: [(link: UInt32, prefix: IPPrefix)]

    /// - Throws: ENODEV also where the index now belongs to a link of another name.
    init(_ interface: InterfaceIdentity, _ journal: NetworkJournal, _ tables: KernelTables) throws(NetlinkError) {
        guard let link = try tables.link(index: interface.index), link.name == interface.name else {
            throw .refused(code: ENODEV, text: "There is no interface \(interface.name) of index \(interface.index).")
        }
        self.link = link
        addresses = try tables.addresses(of: interface.index)
        journalledAddresses = Set(journal.addresses.map(\.prefix))
        let ours = try [false, true].map { (isIPv6) throws(NetlinkError) in
            try tables.routes(.init(isIPv6: isIPv6, owner: Ownership.routingProtocol))
        }
        let ownTable = journal.ownTable
        let passageTable = ownTable.map { Ownership.passageTable(besides: $0) }
        routes = ours.joined().map(\.route).filter { route in
            guard !Ownership.passageTables.contains(route.table) else { return route.table == passageTable }
            return route.interface == interface.index || (route.kind == .unreachable && route.table == ownTable)
        }
        allRules = try tables.rules(isIPv6: false) + tables.rules(isIPv6: true)
        let named = Set(journal.rules)
        rules = allRules.filter(\.isOurs).compactMap(\.rule).filter(named.contains)
        let labels = tables.addressLabels()
        self.labels = labels.map { present in
            // One of the interface that no journal names is what a change left that was taken back.
            present.filter { journal.labels.contains($0) || $0.interface == interface.index }
        }
        let connected = try [false, true].map { (isIPv6) throws(NetlinkError) in
            try tables.routes(.init(isIPv6: isIPv6, table: Route.mainTable, owner: UInt8(RTPROT_KERNEL)))
        }
        let routed = Set(connected.joined().filter { $0.route.interface == interface.index }.map(\.route.destination))
        let networks = addresses.filter { !$0.withoutPrefixRoute && $0.prefix.length < $0.prefix.address.bitCount }
        unroutedNetworks = link.isUp ? Set(networks.map(\.prefix.network)).subtracting(routed) : []
        neighbours = connected.joined().compactMap { found in
            guard let link = found.route.interface, link != interface.index else { return nil }
            return (link, found.route.destination)
        }
    }

    /// Names the tunnel's prefixes that are, or hold, or lie in another link's own network.
    func overlaps(of prefixes: [IPPrefix], _ tables: KernelTables) -> [NetworkNote] {
        let own = prefixes.filter { $0.length > 0 }
        return neighbours.compactMap { neighbour in
            if case .v6(let address) = neighbour.prefix.address, address.isLinkLocal { return nil }
            let found = own.first { prefix in
                prefix.contains(neighbour.prefix.address) && prefix.length <= neighbour.prefix.length
                    || neighbour.prefix.contains(prefix.address) && neighbour.prefix.length <= prefix.length
            }
            guard let found else { return nil }
            let name = (try? tables.link(index: neighbour.link)?.name) ?? "\(neighbour.link)"
            return NetworkNote(.overlap, "\(found) overlaps \(neighbour.prefix), the network of interface \(name).")
        }
    }
}
