package import Netlink
package import NetworkTypes

/// The ways that a tunnel's outer packets take.
package struct OuterPath: Hashable, Sendable {
    /// The way to one endpoint.
    package struct Way: Hashable, Sendable {
        package let endpoint: Endpoint
        package let interface: UInt32
        /// The address that the kernel sends from.
        package let source: IPAddress?
        package let gateway: IPAddress?

        package init(to endpoint: Endpoint, interface: UInt32, source: IPAddress? = nil, gateway: IPAddress? = nil) {
            self.endpoint = endpoint
            self.interface = interface
            self.source = source
            self.gateway = gateway
        }
    }

    /// What stands against a way that the kernel shows.
    package enum Obstacle: Hashable, Sendable {
        /// The link to the endpoint has no address, nor has another that could be used instead; its name.
        case noSource(link: String)
        /// The route to the endpoint leads into a tunnel; the name of its interface.
        case intoTunnel(String)
        /// The tunnel that this one is nested in isn't up.
        case waitsForOuter
    }

    /// Those that lead to a link which carries packets.
    package var ways: [Way]
    /// Whether there is any way: to an endpoint, or where none is known yet, out of this machine.
    package var isAvailable: Bool
    /// What each of them carries.
    package var mtus: [TunnelMTU.Path]
    /// Why an endpoint has no way where a route leads to it; nil where that isn't so.
    package var obstacle: Obstacle?
    /// When to look again: what a router said of one of them is believed for so long only, and nobody tells when that ends.
    package var expiry: Interval?
    /// What the network is known by that this machine is in: its link and its router, or its Wi-Fi name; nil where no
    /// default route leads out.
    ///
    /// It is the same whenever the machine comes back. That two networks look alike is possible, as with a router that has
    /// the address of another's: it decides no more than what is tried first.
    package var network: String?

    package init(
        ways: [Way] = [],
        isAvailable: Bool = true,
        mtus: [TunnelMTU.Path] = [],
        network: String? = nil
    ) {
        self.ways = ways
        self.isAvailable = isAvailable
        self.mtus = mtus
        self.network = network
    }

    /// The same where the paths to addresses carry no more than they were found to.
    package func limited(to limits: [IPAddress: Int]) -> OuterPath {
        var path = self
        for (index, way) in zip(path.mtus.indices, ways) {
            path.mtus[index] = mtus[index].limited(to: limits[way.endpoint.address])
        }
        return path
    }

    /// More endpoints than a tunnel's peers reasonably have; the rest goes by the same links, as a rule.
    package static let limit = 64
}

extension NetworkSnapshot {
    /// What the network is known by; see `OuterPath.network`.
    var identity: String? {
        guard let link = primaryLink, let route = defaultRoutes.first(where: { $0.interface == link.index }) else {
            return nil
        }
        if let name = link.wirelessName { return "\(link.kind.rawValue) \(name)" }
        return "\(link.name) \(route.gateway?.description ?? "-")"
    }
}

extension SnapshotReader {
    /// The ways to endpoints, as the kernel chooses them now.
    ///
    /// - Parameters:
    ///   - passage: where they are to go.
    ///   - port: the one that they come from.
    package func path(
        to endpoints: [Endpoint],
        by passage: OuterPassage = .outside,
        from port: UInt16? = nil
    ) throws(NetlinkError) -> OuterPath {
        let snapshot = try kernelPart()
        let tables = KernelTables(socket: socket)
        var path = OuterPath(network: snapshot.identity)
        guard passage != .closed else {
            path.isAvailable = false
            path.obstacle = .waitsForOuter
            return path
        }
        let port = passage.isOutside ? nil : port
        let own = endpoints.isEmpty ? [] : try tables.tunnelAddresses(ownInterfaces)
        for endpoint in endpoints.prefix(OuterPath.limit) {
            guard let found = try tables.lookUp(endpoint.address, zone: endpoint.zone, port: port),
                let link = snapshot.link(found.interface), link.hasCarrier
            else { continue }
            if let outer = passage.interface {
                // Elsewhere they don't go; and that one's address is the right one.
                guard link.index == outer else { continue }
            } else if ownInterfaces.contains(link.index) {
                path.obstacle = .intoTunnel(link.name)
                continue
            }
            guard !passage.isOutside || OuterSource.isUsable(found.source, to: endpoint.address, own: own) else {
                path.obstacle = .noSource(link: link.name)
                continue
            }
            path.ways.append(
                OuterPath.Way(
                    to: endpoint,
                    interface: found.interface,
                    source: found.source,
                    gateway: found.gateway
                )
            )
            path.mtus.append(TunnelMTU.Path(mtu: found.mtu(over: link.mtu), isIPv6: endpoint.address.isIPv6))
            if let lifetime = found.lifetime, found.mtu(over: link.mtu) < link.mtu {
                path.expiry = min(path.expiry ?? lifetime, lifetime)
            }
        }
        let isOutside = { (link: NetworkLink) in link.kind != .loopback && link.kind != .tunnel && link.hasCarrier }
        let hasExit = passage.isOutside ? snapshot.links.contains(where: isOutside) : true
        path.isAvailable = endpoints.isEmpty ? hasExit : !path.ways.isEmpty
        return path
    }
}
