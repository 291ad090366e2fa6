import ControlAPI
import HostNetwork
import NetworkTypes

extension NetworkView {
    init(_ snapshot: NetworkSnapshot, readAt: Timestamp = .now()) {
        let names = Dictionary(snapshot.links.map { ($0.index, $0.name) }, uniquingKeysWith: { a, _ in a })
        self.init(
            readAt: readAt,
            primaryInterface: snapshot.primaryLink?.name,
            links: snapshot.links.map(LinkView.init),
            defaultRoutes: snapshot.defaultRoutes.map { route in
                DefaultRouteView(
                    family: route.isIPv6 ? "IPv6" : "IPv4",
                    interface: names[route.interface] ?? "\(route.interface)",
                    gateway: route.gateway?.description,
                    metric: Int(route.metric)
                )
            },
            dnsServers: snapshot.nameServers.servers.map(\.description),
            searchDomains: snapshot.nameServers.searchDomains
        )
    }
}

extension LinkView {
    fileprivate init(_ link: NetworkLink) {
        self.init(
            index: Int(link.index),
            name: link.name,
            kind: Kind(rawValue: link.kind.rawValue) ?? .other,
            driver: link.driver,
            up: link.isUp,
            carrier: link.hasCarrier,
            mtu: link.mtu,
            hardwareAddress: link.hardwareAddress.isEmpty ? nil : Self.text(link.hardwareAddress),
            addresses: link.addresses.map(\.description)
        )
        dnsServers = link.nameServers.servers.map(\.description)
        searchDomains = link.nameServers.searchDomains
        routeOnlyDomains = link.nameServers.routeOnlyDomains
        metered = link.isMetered
        wirelessName = link.wirelessName
    }

    /// "02:00:00:00:00:01".
    private static func text(_ address: [UInt8]) -> String {
        address.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

extension NetworkChangeView {
    init(_ change: SnapshotChange) {
        self.init(kind: change.kind.rawValue, interface: change.interface, value: change.value)
    }
}
