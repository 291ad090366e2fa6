package import ControlAPI
import NetworkTypes

extension WireGuardConfiguration {
    /// Names of members in the JSON.
    enum Member {
        static let privateKeyReference = "privateKeyReference"
        static let addresses = "addresses"
        static let excludedRoutes = "excludedRoutes"
        static let dns = "dns"
        static let mtu = "mtu"
        static let disabledOffloads = "disabledOffloads"
        static let listenPort = "listenPort"
        static let table = "table"
        static let firewallMark = "firewallMark"
        static let saveConfig = "saveConfig"
        static let hooks = "hooks"
        static let peers = "peers"
        static let all = [
            privateKeyReference, addresses, excludedRoutes, dns, mtu, disabledOffloads, listenPort, table,
            firewallMark, saveConfig, hooks, peers,
        ]
    }

    enum DNSMember {
        static let servers = "servers"
        static let searchDomains = "searchDomains"
        static let routeOnlyDomains = "routeOnlyDomains"
        static let overTLS = "dnsOverTLS"
        static let dnssec = "dnssec"
        static let all = [servers, searchDomains, routeOnlyDomains, overTLS, dnssec]
    }

    enum PeerMember {
        static let publicKey = "publicKey"
        static let presharedKeyReference = "presharedKeyReference"
        static let endpoint = "endpoint"
        static let allowedIPs = "allowedIPs"
        static let persistentKeepalive = "persistentKeepalive"
        static let all = [publicKey, presharedKeyReference, endpoint, allowedIPs, persistentKeepalive]
    }

    enum HookMember {
        static let event = "event"
        static let command = "command"
        static let all = [event, command]
    }

    /// The configuration as JSON; what isn't set is left out, but the lists of addresses and peers always stand.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            Member.privateKeyReference: .string(privateKeyReference),
            Member.addresses: .array(addresses.map { .string($0.description) }),
            Member.peers: .array(peers.map(\.json)),
        ]
        if !excludedRoutes.isEmpty {
            members[Member.excludedRoutes] = .array(excludedRoutes.map { .string($0.description) })
        }
        if !dns.isEmpty { members[Member.dns] = dns.json }
        members[Member.mtu] = mtu.map { .integer(Int64($0)) }
        if !disabledOffloads.isEmpty {
            members[Member.disabledOffloads] = .array(disabledOffloads.map(\.rawValue).sorted().map(JSONValue.string))
        }
        members[Member.listenPort] = listenPort.map { .integer(Int64($0)) }
        members[Member.table] = table.map { table in
            if case .number(let number) = table { return .integer(Int64(number)) }
            return .string(table.description)
        }
        members[Member.firewallMark] = firewallMark.map { .integer(Int64($0)) }
        members[Member.saveConfig] = saveConfig.map(JSONValue.bool)
        if !hooks.isEmpty {
            members[Member.hooks] = .array(
                hooks.map {
                    .object([HookMember.event: .string($0.event.rawValue), HookMember.command: .string($0.command)])
                }
            )
        }
        return .object(members)
    }
}

extension WireGuardConfiguration.DNS {
    fileprivate var json: JSONValue {
        typealias Member = WireGuardConfiguration.DNSMember
        var members: [String: JSONValue] = [
            Member.servers: .array(servers.map { .string($0.description) }),
            Member.searchDomains: .array(searchDomains.map(JSONValue.string)),
            Member.routeOnlyDomains: .array(routeOnlyDomains.map(JSONValue.string)),
        ]
        members[Member.overTLS] = overTLS.map { .string($0.rawValue) }
        members[Member.dnssec] = dnssec.map { .string($0.rawValue) }
        return .object(members)
    }
}

extension WireGuardConfiguration.Peer {
    fileprivate var json: JSONValue {
        typealias Member = WireGuardConfiguration.PeerMember
        var members: [String: JSONValue] = [
            Member.publicKey: .string(publicKey.description),
            Member.allowedIPs: .array(allowedIPs.map { .string($0.description) }),
        ]
        members[Member.presharedKeyReference] = presharedKeyReference.map(JSONValue.string)
        members[Member.endpoint] = endpoint.map { .string($0.description) }
        members[Member.persistentKeepalive] = persistentKeepalive.map { .integer(Int64($0)) }
        return .object(members)
    }
}
