package import NetworkTypes

/// Whom to ask for names, and what to append to them.
package struct NameServers: Hashable, Sendable {
    package var servers: [IPAddress]
    package var searchDomains: [String]
    /// Domains whose names these servers are asked for, without being appended to short ones; "." is all names.
    package var routeOnlyDomains: [String]

    package init(servers: [IPAddress] = [], searchDomains: [String] = [], routeOnlyDomains: [String] = []) {
        self.servers = servers
        self.searchDomains = searchDomains
        self.routeOnlyDomains = routeOnlyDomains
    }

    package var isEmpty: Bool { servers.isEmpty && searchDomains.isEmpty && routeOnlyDomains.isEmpty }

    /// What a resolv.conf says, as far as resolvers can use it (resolv.conf(5)).
    init(_ lines: ResolvConf) {
        self.init(servers: lines.servers.compactMap { IPAddress(zoned: $0) }, searchDomains: lines.searchDomains)
    }

    /// Reads what systemd-networkd keeps of a link (/run/systemd/netif/links/NUMBER).
    init(networkd text: String) {
        self.init()
        for line in text.split(whereSeparator: \.isNewline) {
            guard let equals = line.firstIndex(of: "=") else { continue }
            let words = line[line.index(after: equals)...].split(separator: " ").map(String.init)
            switch line[..<equals] {
            case "DNS": servers = words.compactMap { IPAddress(decorated: $0) }
            case "DOMAINS": searchDomains = words
            case "ROUTE_DOMAINS": routeOnlyDomains = words
            default: break
            }
        }
    }
}

extension IPAddress {
    /// Reads "fe80::1%eth0" without its zone.
    fileprivate init?(zoned text: String) { self.init(String(text.prefix { $0 != "%" })) }

    /// Reads "[ADDRESS]:PORT%ZONE#NAME" with all but the address left out, as resolved.conf(5) writes servers.
    fileprivate init?(decorated text: String) {
        let bare = text.prefix { $0 != "#" && $0 != "%" }
        if bare.first == "[", let end = bare.firstIndex(of: "]") {
            self.init(String(bare[bare.index(after: bare.startIndex)..<end]))
        } else if let whole = IPAddress(String(bare)) {
            self = whole
        } else {
            // IPv4 with a port; of IPv6 that takes brackets.
            self.init(String(bare.prefix { $0 != ":" }))
        }
    }
}
