package import ControlAPI
import NetworkTypes

// One path leads from JSON to the model, for decoding and for validating: so both refuse the same.

extension WireGuardConfiguration: Codable {
    /// Reads the configuration strictly.
    ///
    /// - Throws: `FieldErrors` with all faults.
    package init(from decoder: any Decoder) throws {
        try self.init(json: JSONValue(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension WireGuardConfiguration {
    /// Reads the configuration strictly: an unknown member, a wrong type or value, and what doesn't fit together are
    /// refused.
    ///
    /// - Throws: all faults at once.
    package init(json: JSONValue) throws(FieldErrors) {
        var reader = FieldReader()
        let read = Self.read(json, with: &reader)
        guard let read, reader.errors.isEmpty else { throw FieldErrors(errors: reader.errors) }
        self = read
    }

    /// All faults of a configuration's JSON; none for a good one.
    package static func validate(_ json: JSONValue) -> [FieldError] {
        var reader = FieldReader()
        _ = read(json, with: &reader)
        return reader.errors
    }

    private static func read(_ json: JSONValue, with reader: inout FieldReader) -> WireGuardConfiguration? {
        guard let members = reader.object(json, at: "", keys: Member.all) else { return nil }
        let reference = reader.text(members[Member.privateKeyReference], at: Member.privateKeyReference, .reference) {
            (text) throws(ValueProblem) in try ReferenceText.parse(text)
        }
        var configuration = WireGuardConfiguration(privateKeyReference: reference ?? "")
        configuration.addresses = reader.texts(
            members[Member.addresses],
            at: Member.addresses,
            items: "addresses with prefix lengths",
            .prefix
        ) { (text) throws(ValueProblem) in try PrefixText.parseInterfaceAddress(text) }
        configuration.excludedRoutes = reader.texts(
            members[Member.excludedRoutes],
            at: Member.excludedRoutes,
            items: "addresses with prefix lengths",
            .prefix
        ) { (text) throws(ValueProblem) in try PrefixText.parse(text) }
        if let dns = members[Member.dns] { configuration.dns = DNS(dns, with: &reader) }
        let mtuRange = Int64(NumberText.mtuRange.lowerBound)...Int64(NumberText.mtuRange.upperBound)
        configuration.mtu = reader.integer(members[Member.mtu], at: Member.mtu, in: mtuRange).map(Int.init(_:))
        let offloads = Offload.allCases.map(\.rawValue).joined(separator: ", ")
        configuration.disabledOffloads = Set(
            reader.texts(
                members[Member.disabledOffloads],
                at: Member.disabledOffloads,
                items: "names of offloads",
                .init("some of \(offloads)")
            ) { (text) throws(ValueProblem) in
                guard let offload = Offload(rawValue: String(decoding: text, as: UTF8.self)) else {
                    throw ValueProblem("is none of \(offloads)")
                }
                return offload
            }
        )
        configuration.listenPort = reader.integer(members[Member.listenPort], at: Member.listenPort, in: 0...65535)
            .map(UInt16.init(truncatingIfNeeded:))
        configuration.table = table(members[Member.table], with: &reader)
        let mark = reader.integer(members[Member.firewallMark], at: Member.firewallMark, in: 0...Int64(UInt32.max))
        configuration.firewallMark = mark.map(UInt32.init(truncatingIfNeeded:))
        configuration.saveConfig = reader.boolean(members[Member.saveConfig], at: Member.saveConfig)
        let hooks = reader.array(members[Member.hooks], at: Member.hooks, of: "hooks")
        configuration.hooks = hooks.enumerated().compactMap { Hook($1, at: "hooks[\($0)]", with: &reader) }
        let peers = reader.array(members[Member.peers], at: Member.peers, of: "peers").enumerated()
            .map { (path: "peers[\($0)]", peer: Peer($1, at: "peers[\($0)]", with: &reader)) }
        configuration.peers = peers.compactMap(\.peer)
        if let mtu = configuration.mtu, let problem = mtuProblem(mtu, addresses: configuration.addresses) {
            reader.fail(Member.mtu, problem.reason, .init("an MTU that fits the addresses"), hint: problem.hint)
        }
        checkPeers(peers, with: &reader)
        return configuration
    }

    /// A number, or what stands in a file.
    private static func table(_ value: JSONValue?, with reader: inout FieldReader) -> RoutingTable? {
        guard let value else { return nil }
        if case .integer = value {
            guard let number = reader.integer(value, at: Member.table, in: 1...Int64(UInt32.max)) else { return nil }
            let table = UInt32(truncatingIfNeeded: number)
            guard let problem = RoutingTable.problem(ofNumber: table) else { return .number(table) }
            reader.fail(Member.table, problem.reason, .table, hint: problem.hint)
            return nil
        }
        return reader.text(value, at: Member.table, .table) { (text) throws(ValueProblem) in
            try RoutingTable(text: text)
        }
    }

    /// Refuses a public key that stands twice, and a network that stands at two peers: neither has one meaning.
    private static func checkPeers(_ peers: [(path: String, peer: Peer?)], with reader: inout FieldReader) {
        var keys: [WireGuardPublicKey: String] = [:]
        var networks: [IPPrefix: String] = [:]
        for (path, peer) in peers {
            guard let peer else { continue }
            if let earlier = keys.updateValue(path, forKey: peer.publicKey) {
                let expected = FieldReader.Expectation("a key that no other peer has")
                reader.fail("\(path).publicKey", "is the same as \(earlier).publicKey", expected)
                continue
            }
            for (index, network) in peer.networks.enumerated() {
                if let owner = networks[network], owner != path {
                    let expected = FieldReader.Expectation("a network that no other peer has")
                    reader.fail("\(path).allowedIPs[\(index)]", "\(network) also stands at \(owner)", expected)
                }
                networks[network] = path
            }
        }
    }
}

extension WireGuardConfiguration.DNS {
    fileprivate init(_ value: JSONValue, with reader: inout FieldReader) {
        self.init()
        let path = WireGuardConfiguration.Member.dns
        guard let members = reader.object(value, at: path, keys: WireGuardConfiguration.DNSMember.all) else { return }
        typealias Member = WireGuardConfiguration.DNSMember
        servers = reader.texts(
            members[Member.servers],
            at: "\(path).\(Member.servers)",
            items: "addresses",
            .init("the address of a DNS server, such as 10.0.0.1")
        ) { (text) throws(ValueProblem) in try DNSWord.server(text) }
        searchDomains = reader.texts(
            members[Member.searchDomains],
            at: "\(path).\(Member.searchDomains)",
            items: "domains",
            .init("a domain, such as corp.example")
        ) { (text) throws(ValueProblem) in try DNSWord.searchDomain(text) }
        routeOnlyDomains = reader.texts(
            members[Member.routeOnlyDomains],
            at: "\(path).\(Member.routeOnlyDomains)",
            items: "domains",
            .init("a domain without ~, such as corp.example, or . for all names")
        ) { (text) throws(ValueProblem) in try DNSWord.routeOnlyDomain(text) }
        if let value = members[Member.overTLS] { overTLS = Self.mode(value, at: Member.overTLS, with: &reader) }
        if let value = members[Member.dnssec] { dnssec = Self.mode(value, at: Member.dnssec, with: &reader) }
    }

    private static func mode<Mode: RawRepresentable & CaseIterable>(
        _ value: JSONValue,
        at member: String,
        with reader: inout FieldReader
    ) -> Mode? where Mode.RawValue == String {
        let names = Mode.allCases.map(\.rawValue).joined(separator: ", ")
        let path = "\(WireGuardConfiguration.Member.dns).\(member)"
        return reader.text(value, at: path, .init("one of \(names)")) { (text) throws(ValueProblem) in
            guard let mode = Mode(rawValue: String(decoding: text, as: UTF8.self)) else {
                throw ValueProblem("is none of \(names)")
            }
            return mode
        }
    }
}

extension WireGuardConfiguration.Peer {
    fileprivate init?(_ value: JSONValue, at path: String, with reader: inout FieldReader) {
        typealias Member = WireGuardConfiguration.PeerMember
        guard let members = reader.object(value, at: path, keys: Member.all) else { return nil }
        let key = reader.text(members[Member.publicKey], at: "\(path).\(Member.publicKey)", .publicKey) {
            (text) throws(ValueProblem) in try WireGuardPublicKey(text: text)
        }
        let reference = members[Member.presharedKeyReference].flatMap {
            reader.text($0, at: "\(path).\(Member.presharedKeyReference)", .reference) {
                (text) throws(ValueProblem) in try ReferenceText.parse(text)
            }
        }
        let endpoint = members[Member.endpoint].flatMap {
            reader.text($0, at: "\(path).\(Member.endpoint)", .endpoint) { (text) throws(ValueProblem) in
                try PeerEndpoint(text: text)
            }
        }
        let allowed = reader.texts(
            members[Member.allowedIPs],
            at: "\(path).\(Member.allowedIPs)",
            items: "addresses with prefix lengths",
            .prefix
        ) { (text) throws(ValueProblem) in try PrefixText.parse(text) }
        let keepalive = reader.integer(
            members[Member.persistentKeepalive],
            at: "\(path).\(Member.persistentKeepalive)",
            in: 0...65535
        )
        guard let key else { return nil }
        self.init(
            publicKey: key,
            presharedKeyReference: reference,
            endpoint: endpoint,
            allowedIPs: allowed,
            persistentKeepalive: keepalive.map(UInt16.init(truncatingIfNeeded:))
        )
    }
}

extension Hook {
    fileprivate init?(_ value: JSONValue, at path: String, with reader: inout FieldReader) {
        typealias Member = WireGuardConfiguration.HookMember
        guard let members = reader.object(value, at: path, keys: Member.all) else { return nil }
        let event = reader.text(members[Member.event], at: "\(path).\(Member.event)", .hookEvent) {
            (text) throws(ValueProblem) -> Event in
            guard let event = Event(rawValue: text.text) else { throw ValueProblem("is \(ShownText.of(text))") }
            return event
        }
        let command = reader.text(members[Member.command], at: "\(path).\(Member.command)", .command) {
            (text) throws(ValueProblem) in try Hook(event ?? .postUp, text: text)
        }
        guard event != nil, let command else { return nil }
        self = command
    }
}

extension FieldReader.Expectation {
    fileprivate static let reference = Self("a reference to a keychain item")
    fileprivate static let prefix = Self("an address with a prefix length, such as 10.0.0.0/24")
    fileprivate static let publicKey = Self("a public key: 32 bytes as 44 characters of base64")
    fileprivate static let endpoint = Self("a host and a port, such as vpn.example.com:51820")
    fileprivate static let table = Self("off, auto, a table's number or its name")
    fileprivate static let hookEvent = Self("PreUp, PostUp, PreDown or PostDown")
    fileprivate static let command = Self("one line of text")
}
