import NetworkTypes
import WireGuardCore

/// The device as `wg` sees and changes it.
extension DeviceDriver {
    /// What `get` tells.
    func report(listenPort: UInt16, mark: UInt32, clock: WallClock) -> DeviceReport {
        var report = DeviceReport()
        report.privateKey = core.privateKey
        report.listenPort = listenPort
        report.mark = mark
        let prefixes = allowedIPs.byOwner
        report.peers = core.peerIdentifiers.compactMap { identifier in
            guard let peer = peers[identifier],
                let known = core.report(of: identifier, sample: peer.watch.sample, at: clock.now)
            else { return nil }
            let total = total(known)
            return DeviceReport.Peer(
                publicKey: peer.publicKey,
                presharedKey: peer.presharedKey,
                endpoint: known.endpoint,
                latestHandshake: known.latestHandshake.map { clock.nanoseconds(at: $0) } ?? 0,
                receivedBytes: total.received,
                sentBytes: total.sent,
                persistentKeepalive: peer.persistentKeepaliveSeconds,
                allowedIPs: prefixes[identifier] ?? []
            )
        }
        return report
    }

    /// Finds out whether a change can be applied, before anything is changed.
    ///
    /// - Parameter mark: that of the outer sockets, which is tunneld's affair: it may be asked for and not be changed. `wg
    ///   setconf` and `syncconf`, which give the private key, say 0 for a file without the line.
    func check(_ change: DeviceChange, mark: UInt32) throws(OperationError) {
        // A device without a key is none: it is stopped by tunneld.
        if case .remove = change.privateKey { throw .notSupported }
        if let wanted = change.mark, wanted != mark, wanted != 0 || change.privateKey == nil { throw .notSupported }
        let privateKey = if case .set(let key) = change.privateKey { key } else { core.privateKey }
        let known = change.replacePeers ? [] : Set(peers.values.map(\.publicKey))
        let added = Set(change.peers.filter { !$0.remove && !$0.updateOnly }.map(\.publicKey)).subtracting(known)
        guard known.count + added.count <= DeviceOperation.maximumPeers else { throw .tooLarge }
        let prefixes = change.peers.reduce(0) { $0 + $1.allowedIPs.count }
        guard prefixes == 0 || allowedIPs.count + prefixes <= DeviceOperation.maximumAllowedIPs else { throw .tooLarge }
        for key in added where !isUsable(key, with: privateKey) { throw .invalid }
    }

    /// Applies a change that `check` has passed; its port is the tunnel's affair.
    ///
    /// - Parameter hints: where peers that it brings were heard last, by an earlier provider.
    func apply(_ change: DeviceChange, hints: [PublicKey: Endpoint] = [:]) throws(OperationError) {
        do throws(PeerError) {
            try self.change { () throws(PeerError) in
                if change.replacePeers {
                    allowedIPs = AllowedIPs()
                    for peer in Array(peers.values) { removePeer(peer) }
                }
                if case .set(let key) = change.privateKey { try setPrivateKey(key) }
                for section in change.peers { try apply(section, hint: hints[section.publicKey]) }
            }
        } catch {
            throw .invalid
        }
    }

    private func apply(_ section: DeviceChange.Peer, hint: Endpoint?) throws(PeerError) {
        guard section.publicKey != core.publicKey else { return }
        guard let peer = peer(section.publicKey) else {
            if !section.remove && !section.updateOnly {
                try addPeer(DevicePeerSettings(section, text: text(of: section.endpoint), hint: hint))
            }
            return
        }
        if section.remove {
            removePeer(peer)
            return
        }
        switch section.presharedKey {
        case .remove: setPresharedKey(nil, of: peer)
        case .set(let key): setPresharedKey(key, of: peer)
        case nil: break
        }
        if let endpoint = section.endpoint,
            endpoint != peer.search?.current || peer.search?.origin != .address(endpoint)
        {
            setEndpoint(.address(endpoint), text: text(of: endpoint), hint: hint, of: peer)
        }
        if let seconds = section.persistentKeepalive { setPersistentKeepalive(seconds, of: peer) }
        if section.replaceAllowedIPs { removeAllAllowedIPs(of: peer) }
        guard !section.allowedIPs.isEmpty else { return }
        changeAllowedIPs(
            of: peer,
            removing: section.allowedIPs.filter(\.isRemoval).map(\.prefix),
            adding: section.allowedIPs.filter { !$0.isRemoval }.map(\.prefix)
        )
    }
}

extension DevicePeerSettings {
    fileprivate init(_ section: DeviceChange.Peer, text: String?, hint: Endpoint?) {
        self.init(publicKey: section.publicKey)
        self.hint = hint
        if case .set(let key) = section.presharedKey { presharedKey = key }
        origin = section.endpoint.map { .address($0) }
        configuredEndpoint = text
        persistentKeepaliveSeconds = section.persistentKeepalive ?? 0
        allowedIPs = section.allowedIPs.filter { !$0.isRemoval }.map(\.prefix)
    }
}
