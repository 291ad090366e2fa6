package import NetworkTypes

/// What must be in force for one tunnel's link.
package struct LinkDNS: Hashable, Sendable {
    package struct Domain: Hashable, Sendable {
        package let name: String
        /// Whether it isn't appended to short names.
        package let isRouteOnly: Bool
    }

    package let servers: [IPAddress]
    package let domains: [Domain]
    /// Whether names that belong to nobody's domains are asked here too.
    package let isDefaultRoute: Bool
    package let overTLS: DNSSettings.OverTLS
    package let validation: DNSSettings.Validation

    /// All names: the domain of a tunnel that takes them all.
    static let allNames = "."

    /// Works out where names go.
    ///
    /// - A tunnel that takes all traffic and names no domains to match takes all names, whatever it has to search: to ask
    ///   the link's own servers beside it would tell them every name.
    /// - One with domains takes the names below them and no other.
    /// - One that takes some traffic and names no domains is asked beside the others, and the first useful answer wins.
    /// - Parameter isFullTunnel: whether all traffic of a family goes into it.
    package init(_ settings: DNSSettings, isFullTunnel: Bool) {
        servers = settings.servers
        var domains = settings.searchDomains.map { Domain(name: $0, isRouteOnly: false) }
        domains += settings.routeOnlyDomains.map { Domain(name: $0, isRouteOnly: true) }
        if isFullTunnel, settings.routeOnlyDomains.isEmpty, !settings.servers.isEmpty {
            domains.append(Domain(name: Self.allNames, isRouteOnly: true))
        }
        var seen: Set<String> = []
        self.domains = domains.filter { seen.insert($0.name).inserted }
        isDefaultRoute = domains.isEmpty || domains.contains { $0.name == Self.allNames }
        overTLS = settings.overTLS
        validation = settings.validation
    }

    /// Whether no other server is to be asked about anything.
    package var takesAllNames: Bool { domains.contains { $0.name == Self.allNames } }

    var searchDomains: [String] { domains.filter { !$0.isRouteOnly }.map(\.name) }
    /// The domains whose names are asked of the tunnel's servers alone, where that can be told apart.
    var matchDomains: [String] { domains.map(\.name).filter { $0 != Self.allNames } }
}

extension TunnelNetworkSettings {
    /// Whether all traffic of a family goes into the tunnel, in one route or in two halves.
    package var isFullTunnel: Bool {
        if policy.includesAll { return true }
        guard table == .automatic else { return false }
        return [IPPrefix.allIPv4, .allIPv6].contains { all in
            if routes.contains(all) { return true }
            let halves = Set(routes.filter { $0.address.isIPv6 == all.address.isIPv6 && $0.length == 1 }.map(\.network))
            return halves.count == 2
        }
    }
}
