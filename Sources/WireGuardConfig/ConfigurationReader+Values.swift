import NetworkTypes

extension ConfigurationReader {
    /// Stores a value, which isn't empty, in the present section.
    mutating func store(_ value: FileValue) {
        do throws(ValueProblem) {
            switch value.key {
            case .address, .dns, .allowedIPs: storeList(value)
            case .publicKey, .presharedKey, .endpoint, .persistentKeepalive: try storeOfPeer(value)
            default: try storeOfInterface(value)
            }
        } catch {
            fail(value, error)
        }
    }

    private mutating func storeOfInterface(_ value: FileValue) throws(ValueProblem) {
        switch value.key {
        case .privateKey:
            interface.privateKeySlot = nil
            let slot = try secrets.decode(value.text)
            if secrets.isZero(slot) { throw ValueProblem("is all zeros", hint: "wg genkey makes a private key.") }
            interface.privateKeySlot = slot
            note(value, .kept, "moved to the keychain")
        case .listenPort:
            let port = try NumberText.parseListenPort(value.text)
            interface.listenPort = port
            note(value, writtenAs: "\(port)")
        case .mtu:
            let mtu = try NumberText.parseMTU(value.text)
            interface.mtuBytes = mtu
            interface.mtu = value
            note(value, writtenAs: "\(mtu)")
        case .table:
            let table = try RoutingTable(text: value.text)
            interface.table = table
            note(value, writtenAs: table.description, secretly: "a table's name")
        case .firewallMark:
            let mark = try NumberText.parseFirewallMark(value.text)
            interface.firewallMark = mark
            let text = "kept for export only: tunneld marks its packets by a mark of its own"
            note(value, .ignored, text + rewriting(of: value, as: NumberText.firewallMark(mark)))
        case .saveConfig:
            let isSet = try Self.boolean(value.text)
            interface.saveConfig = isSet
            let text = "kept for export only: an imported file is never written to"
            note(value, .ignored, text + rewriting(of: value, as: "\(isSet)"))
        default:
            guard let event = value.key.hookEvent else { return }
            interface.hooks.append(try Hook(event, text: value.text))
            interface.hookLines.append(value.line)
            note(value, .ignored, "kept for display and export only: a hook of an imported file never runs")
        }
    }

    private static func boolean(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> Bool {
        if text.equalsIgnoringCase("true") { return true }
        if text.equalsIgnoringCase("false") { return false }
        throw ValueProblem("\(ShownText.of(text)) is neither true nor false")
    }

    private mutating func storeOfPeer(_ value: FileValue) throws(ValueProblem) {
        guard var peer = peers.popLast() else { return }
        defer { peers.append(peer) }
        switch value.key {
        case .publicKey:
            peer.publicKey = nil
            peer.publicKey = try WireGuardPublicKey(text: value.text)
            note(value, .kept, "peer \(peers.count + 1)")
        case .presharedKey:
            peer.presharedKeySlot = nil
            let slot = try secrets.decode(value.text)
            if secrets.isZero(slot) {
                note(value, .warning, "is all zeros, which means none: taken as none")
            } else {
                peer.presharedKeySlot = slot
                note(value, .kept, "moved to the keychain")
            }
        case .endpoint:
            let endpoint = try PeerEndpoint(text: value.text)
            peer.endpoint = endpoint
            note(value, writtenAs: endpoint.description, secretly: "a host's name and port \(endpoint.port)")
            if endpoint.lacksZone {
                note(value, .warning, "is link-local without a zone; write it as in [fe80::1%eth0]:51820")
            }
        default:
            let seconds = try NumberText.parseKeepalive(value.text)
            peer.persistentKeepalive = seconds
            let shown = seconds == 0 ? "off" : ShownText.count(Int(seconds), "second")
            note(value, writtenAs: NumberText.keepalive(seconds), shown: shown)
        }
    }

    /// Notes a value by what an export has in its place.
    ///
    /// - Parameters:
    ///   - shown: what to show of one that is kept.
    ///   - secretly: what to show in the place of a text that could hold a piece of a secret.
    private mutating func note(
        _ value: FileValue,
        writtenAs text: String,
        shown: String? = nil,
        secretly: String? = nil
    ) {
        let isHarmless = ShownText.isHarmless(text.utf8)
        if value.text.elementsEqual(text.utf8) {
            note(value, .kept, isHarmless ? shown ?? text : secretly ?? "")
        } else {
            note(value, .changed, "written as \(isHarmless ? text : "\(secretly ?? "it") in another form")")
        }
    }

    /// An addition to a note where an export has another text.
    private func rewriting(of value: FileValue, as text: String) -> String {
        value.text.elementsEqual(text.utf8) ? "" : "; written as \(text)"
    }

    // MARK: Lists

    private mutating func storeList(_ value: FileValue) {
        let items = items(of: value)
        switch value.key {
        case .dns: storeDNS(items, of: value)
        case .address:
            let prefixes = prefixes(items, of: value) { (text) throws(ValueProblem) in
                try PrefixText.parseInterfaceAddress(text)
            }
            interface.addresses += prefixes
            warnOfLoopback(prefixes, of: value)
        default:
            let prefixes = prefixes(items, of: value) { (text) throws(ValueProblem) in try PrefixText.parse(text) }
            peers[peers.count - 1].allowedIPs += prefixes.map { ($0, value.line) }
            warnOfLoopback(prefixes, of: value)
            for prefix in prefixes where !prefix.isNetwork {
                note(value, .warning, "\(prefix) has host bits; it is used as \(prefix.network) and exported as typed")
            }
        }
    }

    private mutating func warnOfLoopback(_ prefixes: [IPPrefix], of value: FileValue) {
        for prefix in prefixes where PrefixText.isLoopback(prefix) {
            note(value, .warning, "\(prefix) is of the loopback, which never goes through a tunnel")
        }
    }

    /// The items of a list: commas separate them, and blanks too, but not in `AllowedIPs` (P02, P11).
    private mutating func items(of value: FileValue) -> [ArraySlice<UInt8>] {
        var items: [ArraySlice<UInt8>] = []
        var empty = 0
        for part in value.text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let item = part.trimmed
            if item.isEmpty {
                empty += 1
            } else if value.key == .allowedIPs {
                items.append(item)
            } else {
                items += item.split(whereSeparator: \.isBlank)
            }
        }
        if empty > 0 { note(value, .warning, "has \(empty) empty item\(empty == 1 ? "" : "s"), left out") }
        return items
    }

    private mutating func prefixes(
        _ items: [ArraySlice<UInt8>],
        of value: FileValue,
        _ parse: (ArraySlice<UInt8>) throws(ValueProblem) -> IPPrefix
    ) -> [IPPrefix] {
        var prefixes: [IPPrefix] = []
        var rewritten: [IPPrefix] = []
        for item in items {
            do throws(ValueProblem) {
                let prefix = try parse(item)
                prefixes.append(prefix)
                if !item.elementsEqual(prefix.description.utf8) { rewritten.append(prefix) }
            } catch {
                fail(value, error, item: item)
            }
        }
        if !rewritten.isEmpty {
            note(value, .changed, "written as \(Self.listing(rewritten))")
        } else if !prefixes.isEmpty {
            note(value, .kept, Self.listing(prefixes))
        }
        return prefixes
    }

    private static func listing(_ prefixes: [IPPrefix]) -> String {
        let shown = prefixes.prefix(8).map(\.description).joined(separator: ", ")
        return prefixes.count > 8 ? "\(shown) and \(prefixes.count - 8) more" : shown
    }

    private mutating func storeDNS(_ items: [ArraySlice<UInt8>], of value: FileValue) {
        var words: [DNSWord] = []
        var isRewritten = false
        var isMoved = false
        for item in items {
            do throws(ValueProblem) {
                let word = try DNSWord(text: item)
                words.append(word)
                interface.dns.append(word)
                isRewritten = isRewritten || !item.elementsEqual(word.description.utf8)
                isMoved = isMoved || word.rank < interface.lastDNSRank
                interface.lastDNSRank = max(interface.lastDNSRank, word.rank)
            } catch {
                fail(value, error, item: item)
            }
        }
        guard !words.isEmpty else { return }
        var changes: [String] = []
        if isRewritten {
            let servers = words.filter { $0.rank == 0 }.map(\.description)
            changes.append("written as \(servers.joined(separator: ", "))")
        }
        if isMoved { changes.append("moved: servers are written first, then search domains, then route-only ones") }
        if changes.isEmpty {
            let nouns = ["server", "search domain", "route-only domain"]
            let parts = nouns.indices.map { rank in (words.count { $0.rank == rank }, nouns[rank]) }
            note(value, .kept, parts.filter { $0.0 > 0 }.map { ShownText.count($0.0, $0.1) }.joined(separator: ", "))
        } else {
            note(value, .changed, changes.joined(separator: "; "))
        }
    }
}

extension PeerEndpoint {
    /// Whether it can't be reached for want of a zone (RFC 4007, section 6).
    fileprivate var lacksZone: Bool {
        if case .address(.v6(let address), nil) = host { return address.isLinkLocal }
        return false
    }
}
