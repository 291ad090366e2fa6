/// The network around the tunnels, as clients see it.
package struct NetworkView: Codable, Equatable, Sendable {
    package var readAt: Timestamp
    /// The link of the first default route that carries packets; null for none.
    package var primaryInterface: String?
    package var links: [LinkView]
    /// Of each family the preferred one first; those of tunnels are left out.
    package var defaultRoutes: [DefaultRouteView]
    /// What programs on this machine ask (resolv.conf).
    package var dnsServers: [String]
    package var searchDomains: [String]

    package init(
        readAt: Timestamp,
        primaryInterface: String?,
        links: [LinkView],
        defaultRoutes: [DefaultRouteView],
        dnsServers: [String],
        searchDomains: [String]
    ) {
        self.readAt = readAt
        self.primaryInterface = primaryInterface
        self.links = links
        self.defaultRoutes = defaultRoutes
        self.dnsServers = dnsServers
        self.searchDomains = searchDomains
    }

    private enum Keys: String, CodingKey {
        case readAt, primaryInterface, links, defaultRoutes, dnsServers, searchDomains
    }

    /// Every key stands in the document.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(readAt, forKey: .readAt)
        try c.encode(primaryInterface, forKey: .primaryInterface)
        try c.encode(links, forKey: .links)
        try c.encode(defaultRoutes, forKey: .defaultRoutes)
        try c.encode(dnsServers, forKey: .dnsServers)
        try c.encode(searchDomains, forKey: .searchDomains)
    }
}

/// A link of the machine.
package struct LinkView: Codable, Equatable, Sendable {
    package var index: Int
    package var name: String
    package var kind: Kind
    /// The kernel's word for a link in software; null for hardware.
    package var driver: String?
    package var up: Bool
    package var carrier: Bool
    package var mtu: Int
    package var hardwareAddress: String?
    package var addresses: [String]
    package var dnsServers: [String] = []
    package var searchDomains: [String] = []
    package var routeOnlyDomains: [String] = []
    /// Null where nobody knows.
    package var metered: Bool?
    /// The SSID.
    package var wirelessName: String?

    package enum Kind: String, Codable, Sendable, CaseIterable {
        case wired, wifi, cellular, loopback, tunnel, virtual, other
    }

    package init(
        index: Int,
        name: String,
        kind: Kind,
        driver: String?,
        up: Bool,
        carrier: Bool,
        mtu: Int,
        hardwareAddress: String?,
        addresses: [String]
    ) {
        self.index = index
        self.name = name
        self.kind = kind
        self.driver = driver
        self.up = up
        self.carrier = carrier
        self.mtu = mtu
        self.hardwareAddress = hardwareAddress
        self.addresses = addresses
    }

    private enum Keys: String, CodingKey {
        case index, name, kind, driver, up, carrier, mtu, hardwareAddress, addresses, dnsServers, searchDomains
        case routeOnlyDomains, metered, wirelessName
    }

    /// Every key stands in the document.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(index, forKey: .index)
        try c.encode(name, forKey: .name)
        try c.encode(kind, forKey: .kind)
        try c.encode(driver, forKey: .driver)
        try c.encode(up, forKey: .up)
        try c.encode(carrier, forKey: .carrier)
        try c.encode(mtu, forKey: .mtu)
        try c.encode(hardwareAddress, forKey: .hardwareAddress)
        try c.encode(addresses, forKey: .addresses)
        try c.encode(dnsServers, forKey: .dnsServers)
        try c.encode(searchDomains, forKey: .searchDomains)
        try c.encode(routeOnlyDomains, forKey: .routeOnlyDomains)
        try c.encode(metered, forKey: .metered)
        try c.encode(wirelessName, forKey: .wirelessName)
    }
}

package struct DefaultRouteView: Codable, Equatable, Sendable {
    /// "IPv4" or "IPv6".
    package var family: String
    package var interface: String
    /// Null for a link that needs none.
    package var gateway: String?
    package var metric: Int

    package init(family: String, interface: String, gateway: String?, metric: Int) {
        self.family = family
        self.interface = interface
        self.gateway = gateway
        self.metric = metric
    }

    private enum Keys: String, CodingKey { case family, interface, gateway, metric }

    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(family, forKey: .family)
        try c.encode(interface, forKey: .interface)
        try c.encode(gateway, forKey: .gateway)
        try c.encode(metric, forKey: .metric)
    }
}
