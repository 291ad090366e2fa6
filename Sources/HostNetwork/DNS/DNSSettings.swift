package import NetworkTypes

/// The name servers that a tunnel brings along.
package struct DNSSettings: Hashable, Sendable {
    /// Whether queries to the servers are encrypted, as systemd-resolved spells it.
    package enum OverTLS: String, Hashable, Sendable, Codable { case no, opportunistic, yes }
    /// Whether answers are validated, as systemd-resolved spells it.
    package enum Validation: String, Hashable, Sendable, Codable {
        case no
        case allowDowngrade = "allow-downgrade"
        case yes
    }

    package var servers: [IPAddress]
    /// Appended to short names; names below them are asked of the servers.
    package var searchDomains: [String]
    /// Names below them are asked of the servers; "." stands for all names.
    package var routeOnlyDomains: [String]
    /// A tunnel is encrypted itself, and its servers seldom speak TLS.
    package var overTLS: OverTLS
    package var validation: Validation

    package init(
        servers: [IPAddress] = [],
        searchDomains: [String] = [],
        routeOnlyDomains: [String] = [],
        overTLS: OverTLS = .no,
        validation: Validation = .no
    ) {
        self.servers = servers
        self.searchDomains = searchDomains
        self.routeOnlyDomains = routeOnlyDomains
        self.overTLS = overTLS
        self.validation = validation
    }

    package var isEmpty: Bool { servers.isEmpty && searchDomains.isEmpty && routeOnlyDomains.isEmpty }
}
