package import NetworkTypes

/// The network around the tunnels at one moment.
package struct NetworkSnapshot: Hashable, Sendable {
    /// All links, by their numbers.
    package var links: [NetworkLink]
    /// Those of the main table, IPv4's first, of each family the preferred one first.
    package var defaultRoutes: [DefaultRoute]
    /// What programs on this machine ask (resolv.conf(5)).
    package var nameServers: NameServers

    package init(
        links: [NetworkLink] = [],
        defaultRoutes: [DefaultRoute] = [],
        nameServers: NameServers = NameServers()
    ) {
        self.links = links
        self.defaultRoutes = defaultRoutes
        self.nameServers = nameServers
    }

    /// The link that carries what goes to the internet; nil where there is none.
    package var primaryLink: NetworkLink? {
        for route in defaultRoutes {
            if let link = links.first(where: { $0.index == route.interface }), link.hasCarrier { return link }
        }
        return nil
    }

    package func link(_ index: UInt32) -> NetworkLink? { links.first { $0.index == index } }
}

/// A link of this machine, with what is known of the network beyond it.
package struct NetworkLink: Hashable, Sendable {
    package var index: UInt32
    package var name: String
    package var kind: LinkKind
    /// The kernel's word for a software link: "veth", "bridge"; nil for hardware.
    package var driver: String?
    /// Whether it is switched on.
    package var isUp: Bool
    /// Whether it carries packets: switched on, and a cable is plugged in or a network joined.
    package var hasCarrier: Bool
    package var mtu: Int
    package var hardwareAddress: [UInt8]
    /// Those that can be used, in their order.
    package var addresses: [IPPrefix]
    package var nameServers = NameServers()
    /// Whether what goes over it is paid for by volume; nil where nobody knows.
    package var isMetered: Bool?
    /// The name of the Wi-Fi network (SSID); nil where there is none, or it isn't known.
    package var wirelessName: String?

    package init(
        index: UInt32,
        name: String,
        kind: LinkKind,
        driver: String? = nil,
        isUp: Bool = true,
        hasCarrier: Bool = true,
        mtu: Int = 1500,
        hardwareAddress: [UInt8] = [],
        addresses: [IPPrefix] = []
    ) {
        self.index = index
        self.name = name
        self.kind = kind
        self.driver = driver
        self.isUp = isUp
        self.hasCarrier = hasCarrier
        self.mtu = mtu
        self.hardwareAddress = hardwareAddress
        self.addresses = addresses
    }
}
