package import NetworkTypes

/// Everything that a tunnel wants of the machine's network; the whole of it, each time.
package struct TunnelNetworkSettings: Hashable, Sendable {
    /// Where the tunnel's routes go.
    package enum Table: Hashable, Sendable {
        /// The main table, and a table of the tunnel's own for what needs rules (a default route, for one).
        case automatic
        /// No routes at all; others take care.
        case off
        /// All routes into this table, and no rules.
        case number(UInt32)
    }

    /// The tunnel's interface; index and name must belong to the same link, or nothing is touched.
    package var interface: InterfaceIdentity
    /// The tunnel's own addresses, with their prefix lengths.
    package var addresses: [IPPrefix]
    /// What goes into the tunnel: for WireGuard the allowed IPs of all peers.
    package var routes: [IPPrefix]
    /// What doesn't go into the tunnel, whatever `routes` and other tunnels say; a more specific one of `routes` does.
    package var excludedRoutes: [IPPrefix]
    package var policy: RoutingPolicy
    package var table: Table
    /// Bytes of the largest inner packet; nil to take it from the paths to the endpoints.
    package var mtu: Int?
    /// Where the outer packets go as far as it is known.
    ///
    /// A route of the tunnel that holds one of them is kept from catching the outer packets.
    package var endpoints: [Endpoint]
    /// Where the outer packets of other tunnels go, which don't belong in this one either.
    package var othersEndpoints: [Endpoint] = []
    /// The longest outer packets that the paths to addresses carry, where less than the kernel knows.
    package var pathLimits: [IPAddress: Int] = [:]
    /// The UDP port of the outer sockets, for the reverse-path check; nil while there is none.
    package var outerPort: UInt16?
    /// Where the outer packets go.
    package var passage = OuterPassage.outside
    /// The name servers that come with it.
    package var dns: DNSSettings

    package init(
        interface: InterfaceIdentity,
        addresses: [IPPrefix] = [],
        routes: [IPPrefix] = [],
        excludedRoutes: [IPPrefix] = [],
        policy: RoutingPolicy = RoutingPolicy(),
        table: Table = .automatic,
        mtu: Int? = nil,
        endpoints: [Endpoint] = [],
        outerPort: UInt16? = nil,
        dns: DNSSettings = DNSSettings()
    ) {
        self.interface = interface
        self.addresses = addresses
        self.routes = routes
        self.excludedRoutes = excludedRoutes
        self.policy = policy
        self.table = table
        self.mtu = mtu
        self.endpoints = endpoints
        self.outerPort = outerPort
        self.dns = dns
    }
}

/// How a tunnel's routes stand to those of others.
package struct RoutingPolicy: Hashable, Sendable, Codable {
    /// More specific routes of others don't lead round the tunnel.
    ///
    /// Local networks do where the tunnel takes all by its default route, not where a prefix of its own holds them.
    package var enforcesRoutes = false
    /// Everything of both families goes into the tunnel, or nowhere.
    package var includesAll = false
    /// The networks that the machine is attached to (`LocalNetworks`) are reached directly.
    package var excludesLocal = false
    /// The tunnel that this one is nested in, as the caller calls it; what comes of it are the settings' `passage`.
    package var nestedIn: String?

    package init(
        enforcesRoutes: Bool = false,
        includesAll: Bool = false,
        excludesLocal: Bool = false,
        nestedIn: String? = nil
    ) {
        self.nestedIn = nestedIn
        self.enforcesRoutes = enforcesRoutes
        self.includesAll = includesAll
        self.excludesLocal = excludesLocal
    }

    /// Whether the routes of others count for nothing.
    var overridesOthers: Bool { enforcesRoutes || includesAll }
    /// Whether the rules depend on what the machine is attached to.
    package var followsSurroundings: Bool { overridesOthers || excludesLocal }
}

/// An interface told by both its number and its name, so that another one that got the number isn't taken for it.
package struct InterfaceIdentity: Hashable, Sendable, Codable {
    package let index: UInt32
    package let name: String

    package init(index: UInt32, name: String) {
        self.index = index
        self.name = name
    }
}

/// What is in force after settings were applied.
package struct AppliedNetworkSettings: Hashable, Sendable {
    package let addresses: [IPPrefix]
    /// The prefixes that lead into the tunnel, those of the addresses' own networks left out.
    package let routes: [IPPrefix]
    package let mtu: Int
    /// The tunnel's own table, if it needed one.
    package let table: UInt32?
    /// Whether all traffic of the family goes into the tunnel.
    package let hasIPv4Default: Bool
    package let hasIPv6Default: Bool
    /// What was left out or deserves a look.
    package let notes: [NetworkNote]
}

/// Something that an operator should know about settings that were applied all the same.
package struct NetworkNote: Hashable, Sendable {
    /// Stable; what tests compare.
    package enum Code: String, Hashable, Sendable {
        /// The host has IPv6 switched off.
        case ipv6Disabled
        /// The MTU is below 1280, the least that IPv6 works with.
        case mtuBelowIPv6
        /// A larger MTU was asked for than outer datagrams can carry.
        case mtuCapped
        /// The tunnel's prefix is also that of another link's network.
        case overlap
        /// No priority ahead of all other tunnels was free.
        case notAheadOfOthers
        /// Without routes of ours there is nothing to enforce, and nothing to exclude from.
        case policyWithoutRoutes
    }

    package let code: Code
    package let text: String

    package init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }
}
