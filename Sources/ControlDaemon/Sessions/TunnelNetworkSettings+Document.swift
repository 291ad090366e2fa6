import ControlAPI
import HostNetwork
import LinuxSystem
import NetworkTypes

extension TunnelNetworkSettings {
    /// Reads what a provider asked for.
    ///
    /// - Throws: `providerFailed` for what isn't an address, a prefix, a table or an endpoint.
    init(
        _ document: NetworkSettingsDocument,
        policy: RoutingPolicy,
        interface: InterfaceIdentity,
        port: Int?
    ) throws(ControlError) {
        self.init(interface: interface, policy: policy)
        for text in document.addresses { addresses.append(try Self.prefix(text, "address")) }
        for text in document.routes { routes.append(try Self.prefix(text, "route")) }
        for text in document.excludedRoutes ?? [] {
            let prefix = try Self.prefix(text, "excluded route")
            // Everything goes into the tunnel: what didn't would be dropped by the block.
            if !policy.includesAll { excludedRoutes.append(prefix) }
        }
        for text in document.endpoints {
            guard let endpoint = Endpoint(text: text) else { throw Self.wrong("endpoint", text) }
            endpoints.append(endpoint)
        }
        for (text, limit) in document.pathLimits ?? [:] {
            guard let address = IPAddress(text) else { throw Self.wrong("address", text) }
            pathLimits[address] = limit
        }
        table = try Self.table(document.table)
        mtu = document.mtu
        outerPort = port.flatMap { UInt16(exactly: $0) }
        if let document = document.dns { dns = try Self.dns(document) }
    }

    private static func dns(_ document: DNSView) throws(ControlError) -> DNSSettings {
        var dns = DNSSettings()
        for text in document.servers {
            guard let address = IPAddress(text) else { throw wrong("name server", text) }
            dns.servers.append(address)
        }
        dns.searchDomains = try document.searchDomains.map { (text) throws(ControlError) in try domain(text) }
        dns.routeOnlyDomains = try document.routeOnlyDomains.map { (text) throws(ControlError) in
            text == "." ? text : try domain(text)
        }
        if let text = document.dnsOverTLS {
            guard let mode = DNSSettings.OverTLS(rawValue: text) else { throw wrong("mode of DNS over TLS", text) }
            dns.overTLS = mode
        }
        if let text = document.dnssec {
            guard let mode = DNSSettings.Validation(rawValue: text) else { throw wrong("mode of DNSSEC", text) }
            dns.validation = mode
        }
        return dns
    }

    /// What goes into files and to other programs is a name and nothing else (RFC 1035, section 2.3.1).
    private static func domain(_ text: String) throws(ControlError) -> String {
        let isName = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
        }
        guard isName, (1...253).contains(text.utf8.count), !text.hasPrefix("."), !text.hasPrefix("-") else {
            throw wrong("domain", text)
        }
        return text
    }

    private static func prefix(_ text: String, _ kind: String) throws(ControlError) -> IPPrefix {
        guard let prefix = IPPrefix(text) else { throw wrong(kind, text) }
        return prefix
    }

    private static func table(_ text: String) throws(ControlError) -> Table {
        switch text {
        case "auto": return .automatic
        case "off": return .off
        default:
            if let number = UInt32(text) ?? RoutingTableNames.number(of: text) {
                guard RoutingTableNames.isKernels(number) else { return .number(number) }
                throw ControlError(
                    .networkSettingsFailed,
                    "A tunnel's routes can't go into the routing table \(text.prefix(64)).",
                    reason: "Table \(number) is the kernel's own.",
                    remedy: "Use another table's name or number."
                )
            }
            throw ControlError(
                .networkSettingsFailed,
                "There is no routing table \(text.prefix(64)).",
                reason: "It is neither a number, nor a name in \(RoutingTableNames.places).",
                remedy: "Name the table there, or use its number."
            )
        }
    }

    private static func wrong(_ kind: String, _ text: String) -> ControlError {
        ControlError(
            .providerFailed,
            "The provider asked for settings that make no sense.",
            reason: "\"\(text.prefix(64))\" is no \(kind).",
            remedy: "Install the provider and tunneld of the same version."
        )
    }
}
