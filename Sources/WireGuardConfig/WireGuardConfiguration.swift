package import NetworkTypes

/// What a WireGuard tunnel is: the `provider.configuration` of the design's section 10.
///
/// Secrets stand in it as references only. As JSON it has the property names below, with addresses, endpoints and keys
/// as text; see `WireGuardConfiguration+JSON.swift`.
package struct WireGuardConfiguration: Equatable, Sendable {
    /// A reference into the keychain, or a placeholder ("new:private-key") until the first save.
    package var privateKeyReference: String
    /// The interface's own addresses; the host bits are part of them.
    package var addresses: [IPPrefix]
    /// Prefixes that don't go into the tunnel although allowed IPs hold them; a file has no key for them.
    package var excludedRoutes: [IPPrefix]
    package var dns: DNS
    /// Bytes, 576 (with an IPv6 address 1280) to 65535; nil to have it computed.
    package var mtu: Int?
    /// What the packet loop does without; a file has no key for it.
    package var disabledOffloads: Set<Offload>
    /// nil and 0 leave the choice to the system.
    package var listenPort: UInt16?
    /// nil means `auto`.
    package var table: RoutingTable?
    /// `FwMark`, 0 for `off`.
    ///
    /// Kept for export; tunneld marks its packets with a mark of its own.
    package var firewallMark: UInt32?
    /// `SaveConfig`.
    ///
    /// Kept for export; nothing ever writes to an imported file.
    package var saveConfig: Bool?
    package var hooks: [Hook]
    package var peers: [Peer]

    package init(
        privateKeyReference: String,
        addresses: [IPPrefix] = [],
        excludedRoutes: [IPPrefix] = [],
        dns: DNS = DNS(),
        mtu: Int? = nil,
        disabledOffloads: Set<Offload> = [],
        listenPort: UInt16? = nil,
        table: RoutingTable? = nil,
        firewallMark: UInt32? = nil,
        saveConfig: Bool? = nil,
        hooks: [Hook] = [],
        peers: [Peer] = []
    ) {
        self.privateKeyReference = privateKeyReference
        self.addresses = addresses
        self.excludedRoutes = excludedRoutes
        self.dns = dns
        self.mtu = mtu
        self.disabledOffloads = disabledOffloads
        self.listenPort = listenPort
        self.table = table
        self.firewallMark = firewallMark
        self.saveConfig = saveConfig
        self.hooks = hooks
        self.peers = peers
    }

    /// Every reference that stands in the configuration, the private key's first.
    package var secretReferences: [String] { [privateKeyReference] + peers.compactMap(\.presharedKeyReference) }

    package struct DNS: Equatable, Sendable {
        package var servers: [IPAddress]
        package var searchDomains: [String]
        /// Names below these are asked of the servers; the domains aren't appended to short names.
        ///
        /// Without the "~" that marks them in a file; "." stands for all names.
        package var routeOnlyDomains: [String]
        /// Whether queries are encrypted once more; nil is no, and a file has no word for it.
        package var overTLS: OverTLS?
        /// Whether answers are validated; nil is no, and a file has no word for it.
        package var dnssec: Validation?

        /// As systemd-resolved spells it (resolved.conf(5), DNSOverTLS=).
        package enum OverTLS: String, Sendable, CaseIterable { case no, opportunistic, yes }
        /// As systemd-resolved spells it (resolved.conf(5), DNSSEC=).
        package enum Validation: String, Sendable, CaseIterable {
            case no
            case allowDowngrade = "allow-downgrade"
            case yes
        }

        package init(
            servers: [IPAddress] = [],
            searchDomains: [String] = [],
            routeOnlyDomains: [String] = [],
            overTLS: OverTLS? = nil,
            dnssec: Validation? = nil
        ) {
            self.servers = servers
            self.searchDomains = searchDomains
            self.routeOnlyDomains = routeOnlyDomains
            self.overTLS = overTLS
            self.dnssec = dnssec
        }

        package var isEmpty: Bool { servers.isEmpty && searchDomains.isEmpty && routeOnlyDomains.isEmpty }
    }

    package struct Peer: Equatable, Sendable {
        /// Unique in a configuration.
        package var publicKey: WireGuardPublicKey
        package var presharedKeyReference: String?
        package var endpoint: PeerEndpoint?
        /// As they were typed, host bits included; `networks` has them cleared.
        ///
        /// No network stands at two peers.
        package var allowedIPs: [IPPrefix]
        /// Seconds; 0 is `off`, and so is nil.
        package var persistentKeepalive: UInt16?

        package init(
            publicKey: WireGuardPublicKey,
            presharedKeyReference: String? = nil,
            endpoint: PeerEndpoint? = nil,
            allowedIPs: [IPPrefix] = [],
            persistentKeepalive: UInt16? = nil
        ) {
            self.publicKey = publicKey
            self.presharedKeyReference = presharedKeyReference
            self.endpoint = endpoint
            self.allowedIPs = allowedIPs
            self.persistentKeepalive = persistentKeepalive
        }

        /// The allowed IPs without host bits: what the peer table and the routes take.
        package var networks: [IPPrefix] { allowedIPs.map(\.network) }
    }
}

extension WireGuardConfiguration {
    /// Why an MTU doesn't fit the addresses; nil where it does.
    static func mtuProblem(_ mtu: Int, addresses: [IPPrefix]) -> ValueProblem? {
        guard mtu < NumberText.leastMTUWithIPv6, addresses.contains(where: \.address.isIPv6) else { return nil }
        return ValueProblem(
            "\(mtu) is below \(NumberText.leastMTUWithIPv6), the least that IPv6 works with",
            hint: "Raise it, or leave out the IPv6 addresses."
        )
    }
}
