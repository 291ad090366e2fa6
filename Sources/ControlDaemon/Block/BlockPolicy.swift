import ControlAPI
import HostNetwork
import NetworkTypes

/// For which configurations traffic is blocked, and what their tunnels need: decisions without any effect.
enum BlockPolicy {
    /// Whether the block also stands while the tunnel is down.
    static func isPersistent(_ configuration: Configuration) -> Bool {
        configuration.enabled && configuration.includeAllNetworks && configuration.persistentBlock
    }

    /// What stands for a configuration whose tunnel doesn't run: nothing passes for it, but the local networks perhaps.
    static func bare(_ configuration: Configuration) -> BlockMember {
        var member = BlockMember(
            holds: configuration.includeAllNetworks,
            name: configuration.name,
            owner: configuration.owner.user
        )
        member.permitsLocalNetworks = configuration.excludeLocalNetworks
        return member
    }

    /// What the tunnel of a configuration needs.
    ///
    /// - Parameters:
    ///   - known: endpoints that became known since: by a look-up, from the provider, or by an answer from there.
    static func member(
        _ configuration: Configuration,
        interface: String?,
        port: Int?,
        known: some Sequence<String>
    ) -> BlockMember {
        var member = bare(configuration)
        member.interface = interface
        member.port = port.flatMap { UInt16(exactly: $0) }
        let isNested = configuration.nestedIn != nil
        for peer in peers(of: configuration) {
            // What goes through another tunnel passes there; outside of that nothing of it is to.
            if isNested {
                if let text = peer["endpoint"]?.string, numeric(text) == nil { member.looksUpNames = true }
                continue
            }
            guard let text = peer["endpoint"]?.string else {
                member.isGateway = true
                continue
            }
            if let endpoint = numeric(text) { member.permit(endpoint) } else { member.looksUpNames = true }
        }
        for text in known where !isNested { if let endpoint = Endpoint(text) { member.permit(endpoint) } }
        return member
    }

    /// Where a name's addresses are to be called: each at the ports that the configuration has beside the name.
    static func endpoints(of name: String, _ addresses: [String], in configuration: Configuration) -> Set<String> {
        let ports = peers(of: configuration).compactMap { $0["endpoint"]?.string }.compactMap { text -> UInt16? in
            guard let colon = text.lastIndex(of: ":"), text[..<colon] == name else { return nil }
            return UInt16(text[text.index(after: colon)...])
        }
        var endpoints: Set<String> = []
        for address in addresses {
            // A zone is no part of an address in a packet.
            guard let address = IPAddress(String(address.prefix { $0 != "%" })) else { continue }
            for port in ports { endpoints.insert(Endpoint(address, port: port).description) }
        }
        return endpoints
    }

    /// Whether a configuration takes the place of one for which the block stands: the block goes over to it at once, so that
    /// nothing leaks until it is started.
    ///
    /// - Parameters:
    ///   - previous: what was stored before; nil for a new one.
    ///   - holder: that for which the block stands, as it is stored.
    static func takesOver(_ configuration: Configuration, previous: Configuration?, from holder: Configuration) -> Bool
    {
        let isNew = previous.map { !($0.enabled && $0.exclusive && $0.includeAllNetworks) } ?? true
        return isNew && configuration.enabled && configuration.exclusive && configuration.includeAllNetworks
            && holder.identifier != configuration.identifier && holder.exclusive
            && holder.owner.user == configuration.owner.user
            && (holder.type == .provider) == (configuration.type == .provider)
    }

    /// Those that take the place of one for which the block stands or stood, where a crash came before it went over to them.
    ///
    /// - Parameters:
    ///   - holders: for whom it stood.
    ///   - running: what runs, with the configurations that it was started with.
    ///   - stored: what is stored.
    static func heirs(
        of holders: some Sequence<String>,
        _ running: [String: Configuration],
        among stored: [String: Configuration]
    ) -> Set<String> {
        let former = Set(holders).union(running.keys).compactMap { stored[$0] ?? running[$0] }
        return Set(
            stored.values.filter { configuration in
                former.contains {
                    $0.includeAllNetworks && takesOver(configuration, previous: nil, from: $0)
                }
            }.map(\.identifier)
        )
    }

    private static func peers(of configuration: Configuration) -> [JSONValue] {
        configuration.provider?.configuration["peers"]?.array ?? []
    }

    /// "192.0.2.1:51820" or "[fe80::1%eth0]:51820"; nil for a name.
    private static func numeric(_ text: String) -> Endpoint? {
        if let endpoint = Endpoint(text) { return endpoint }
        guard let percent = text.firstIndex(of: "%"), let bracket = text.lastIndex(of: "]"), percent < bracket else {
            return nil
        }
        return Endpoint(String(text[..<percent]) + String(text[bracket...]))
    }
}
