import NetworkTypes

/// A link as systemd-resolved has it; nil for what this version doesn't tell.
struct ResolvedLink: Equatable, Sendable {
    var servers: [IPAddress] = []
    var domains: [LinkDNS.Domain] = []
    var isDefaultRoute: Bool?
    var overTLS: String?
    var validation: String?

    /// Whether names go where they shall.
    func routes(_ wanted: LinkDNS) -> Bool {
        servers == wanted.servers && Set(domains.map(\.normal)) == Set(wanted.domains.map(\.normal))
            && (isDefaultRoute ?? wanted.isDefaultRoute) == wanted.isDefaultRoute
    }

    /// What works otherwise than was set, in sentences.
    func differences(from wanted: LinkDNS) -> [String] {
        var found: [String] = []
        if let overTLS, overTLS != wanted.overTLS.rawValue {
            found.append(
                "DNS-over-TLS is \(overTLS) for this tunnel although \(wanted.overTLS.rawValue) was set, so a server "
                    + "without it may not be asked: look at DNSOverTLS= in resolved.conf."
            )
        }
        if let validation, validation != wanted.validation.rawValue {
            found.append(
                "DNSSEC is \(validation) for this tunnel although \(wanted.validation.rawValue) was set, so names of its "
                    + "own may be refused: look at DNSSEC= in resolved.conf."
            )
        }
        return found
    }
}

extension LinkDNS.Domain {
    /// Names are the same whatever their case, and with a point behind or without.
    fileprivate var normal: LinkDNS.Domain {
        let points = name.lowercased().reversed().drop { $0 == "." }.reversed()
        return LinkDNS.Domain(name: String(points), isRouteOnly: isRouteOnly)
    }
}
