package import NetworkTypes

/// Whom to ask for a name outside of all tunnels.
package struct UnderlayResolvers: Equatable, Sendable {
    package var servers: [Endpoint]
    /// Appended to short names.
    package var searchDomains: [String]

    package init(servers: [Endpoint], searchDomains: [String]) {
        self.servers = servers
        self.searchDomains = searchDomains
    }
}

extension UnderlayResolvers {
    /// A link that is no tunnel, as systemd-resolved knows it.
    struct Link: Equatable {
        let index: UInt32
        var domains: [LinkDNS.Domain]
        var isDefaultRoute: Bool
    }

    /// The servers for one name: those of the links whose domains fit it best, else those that take any name.
    init(
        for host: String,
        _ servers: [(link: UInt32, server: Endpoint)],
        _ links: [Link],
        isTunnel: (UInt32) -> Bool
    ) {
        let host = host.lowercased()
        let outside = links.filter { !isTunnel($0.index) }
        let ranks = outside.map { link in
            (
                link.index,
                rank: link.domains.compactMap { Self.fit(host, $0.name) }.max() ?? (link.isDefaultRoute ? 0 : -1)
            )
        }
        let best = ranks.map(\.rank).max() ?? -1
        let chosen = Set(ranks.filter { $0.rank == best && best >= 0 }.map(\.0))
        // What is set for the whole machine is asked for what fits no link's domain.
        var found = servers.filter { chosen.contains($0.link) || $0.link == 0 && best <= 0 }
        if found.isEmpty { found = servers.filter { !isTunnel($0.link) } }
        self.init(
            servers: found.map(\.server).withoutDoubles(),
            searchDomains: outside.flatMap(\.domains).filter { !$0.isRouteOnly }.map(\.name).withoutDoubles()
        )
    }

    /// How many letters of a name a domain covers; nil for one that it doesn't lie in.
    private static func fit(_ host: String, _ domain: String) -> Int? {
        let domain = domain.lowercased()
        if domain == "." || domain.isEmpty { return 0 }
        return host == domain || host.hasSuffix(".\(domain)") ? domain.utf8.count : nil
    }

    /// Those of a resolv.conf, but for a tunnel's own; nil where none is left.
    init?(_ lines: ResolvConf, without tunnels: Set<String>) {
        let servers = lines.servers.prefix(ResolvConfState.serverLimit).filter { !tunnels.contains($0) }
            .compactMap { Endpoint(literal: $0, port: 53) }
        guard !servers.isEmpty else { return nil }
        self.init(servers: servers, searchDomains: lines.searchDomains)
    }
}
