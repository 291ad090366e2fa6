import NetworkTypes

extension ConfigurationReader {
    /// Checks what no single line shows, and puts the configuration together.
    consuming func finish(
        storedPrivateKey: String?,
        publicKey: (RawSpan) -> WireGuardPublicKey?
    ) throws(ImportErrors) -> ImportResult {
        noteComments()
        checkInterface(needsPrivateKey: storedPrivateKey == nil)
        checkPeers()
        guard errors.errors.isEmpty else {
            errors.sort()
            throw errors
        }
        if let slot = interface.privateKeySlot, let own = publicKey(secrets.key(at: slot)) { warnOfOwnKey(own) }
        let configuration = nameSecrets(storedPrivateKey)
        warnOfKeysInHooks(configuration)
        report.peers = peers.count
        report.sort()
        return ImportResult(configuration: configuration, secrets: secrets, report: report)
    }

    private mutating func checkInterface(needsPrivateKey: Bool) {
        guard let line = interface.line else {
            let hint = "A file begins with [Interface] and its PrivateKey."
            fail(line: 0, ValueProblem("the file has no [Interface] section", hint: hint))
            return
        }
        if needsPrivateKey, interface.seen[.privateKey] == nil {
            let hint = "It must stand in the file: hooks, which could set it, never run."
            fail(line: line, ValueProblem("this [Interface] has no PrivateKey", hint: hint))
        }
        if let value = interface.mtu, let mtu = interface.mtuBytes,
            let problem = WireGuardConfiguration.mtuProblem(mtu, addresses: interface.addresses)
        {
            fail(value, problem)
        }
    }

    /// Refuses what has no single meaning: a peer without a key or with another's, a network of two peers.
    private mutating func checkPeers() {
        var lines: [WireGuardPublicKey: Int] = [:]
        var owners: [IPPrefix: Int] = [:]
        for peer in peers {
            if peer.seen[.allowedIPs] == nil {
                let text =
                    "this [Peer] has no AllowedIPs: it can be reached, but nothing is sent to it or taken from it"
                report.add(.warning, line: peer.line, text)
            }
            if peer.seen[.publicKey] == nil {
                fail(line: peer.line, ValueProblem("this [Peer] has no PublicKey"))
            }
            if let key = peer.publicKey, let earlier = lines.updateValue(peer.line, forKey: key) {
                let reason = "the [Peer] sections of lines \(earlier) and \(peer.line) have the same PublicKey"
                fail(line: peer.line, ValueProblem(reason, hint: "Make one section of them."))
                continue
            }
            for (prefix, line) in peer.allowedIPs {
                if let owner = owners[prefix.network], owner != peer.line {
                    let reason = "\(prefix.network) stands at two peers, those of lines \(owner) and \(peer.line)"
                    let hint = "Leave it at the one that its packets shall go to."
                    fail(line: line, key: .allowedIPs, ValueProblem(reason, hint: hint))
                }
                owners[prefix.network] = peer.line
            }
        }
    }

    private mutating func warnOfKeysInHooks(_ configuration: WireGuardConfiguration) {
        for (hook, line) in zip(interface.hooks, interface.hookLines) where hook.holdsKey(in: configuration) {
            let text =
                "holds what looks like a key, which isn't moved to the keychain: who may load the configuration reads it; "
                + "let the command read it from a file"
            report.add(.warning, line: line, key: hook.event.rawValue, text)
        }
    }

    private mutating func warnOfOwnKey(_ own: WireGuardPublicKey) {
        for peer in peers where peer.publicKey == own {
            let line = peer.seen[.publicKey] ?? peer.line
            let text = "belongs to this file's own PrivateKey: a tunnel to oneself never connects"
            report.add(.warning, line: line, key: FileKey.publicKey.rawValue, text)
        }
    }

    /// The configuration, with a placeholder for each secret.
    private mutating func nameSecrets(_ storedPrivateKey: String?) -> WireGuardConfiguration {
        var privateKey = SecretPlaceholder.privateKey
        if let slot = interface.privateKeySlot {
            secrets.name(slot, privateKey)
            report.privateKeys = 1
        } else if let storedPrivateKey {
            privateKey = storedPrivateKey
        }
        var configuration = WireGuardConfiguration(
            privateKeyReference: privateKey,
            addresses: interface.addresses,
            dns: interface.dns,
            mtu: interface.mtuBytes,
            listenPort: interface.listenPort,
            table: interface.table,
            firewallMark: interface.firewallMark,
            saveConfig: interface.saveConfig,
            hooks: interface.hooks
        )
        for peer in peers {
            guard let key = peer.publicKey else { continue }
            var reference: String?
            if let slot = peer.presharedKeySlot {
                report.presharedKeys += 1
                let name = SecretPlaceholder.presharedKey(report.presharedKeys)
                secrets.name(slot, name)
                reference = name
            }
            let finished = WireGuardConfiguration.Peer(
                publicKey: key,
                presharedKeyReference: reference,
                endpoint: peer.endpoint,
                allowedIPs: peer.allowedIPs.map(\.prefix),
                persistentKeepalive: peer.persistentKeepalive
            )
            configuration.peers.append(finished)
        }
        return configuration
    }
}
