import ControlAPI
import Glibc
import NetworkTypes
import WireGuardConfig

extension NetworkSettingsDocument {
    /// What a WireGuard configuration asks of the network: routes are the allowed IPs of all peers.
    init(_ configuration: WireGuardConfiguration) {
        let dns = configuration.dns
        self.init(
            addresses: configuration.addresses.map(\.description),
            routes: Set(configuration.peers.flatMap(\.networks)).sorted().map(\.description),
            table: (configuration.table ?? .auto).description,
            mtu: configuration.mtu,
            endpoints: configuration.peers.compactMap { $0.endpoint?.numeric?.description },
            dns: dns.isEmpty
                ? nil
                : DNSView(
                    servers: dns.servers.map(\.description),
                    searchDomains: dns.searchDomains,
                    routeOnlyDomains: dns.routeOnlyDomains,
                    dnsOverTLS: dns.overTLS?.rawValue,
                    dnssec: dns.dnssec?.rawValue
                )
        )
        if !configuration.excludedRoutes.isEmpty {
            excludedRoutes = Set(configuration.excludedRoutes.map(\.network)).sorted().map(\.description)
        }
    }
}

extension PeerEndpoint {
    /// The endpoint where it is no name; nil also while the zone's interface isn't there.
    var numeric: Endpoint? {
        guard case .address(let address, let zone) = host else { return nil }
        guard let zone else { return Endpoint(address, port: port) }
        return InterfaceZone.index(zone).map { Endpoint(address, port: port, zone: $0) }
    }
}
