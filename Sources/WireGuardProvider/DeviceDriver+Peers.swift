import NetworkTypes
import TunnelCrypto
import WireGuardCore

/// The changes of which every configuration and every `wg set` is made up.
extension DeviceDriver {
    func peer(_ publicKey: PublicKey) -> DevicePeer? { core.peer(publicKey).flatMap { peers[$0] } }

    /// Adds a peer that isn't there.
    ///
    /// - Throws: where the public key can't be one of a peer.
    func addPeer(_ settings: DevicePeerSettings) throws(PeerError) {
        var outcome: Result<Void, PeerError> = .success(())
        step { core, moment, actions in
            let first = settings.hint ?? settings.origin.flatMap { EndpointSearch($0).current }
            let coreSettings = PeerSettings(
                publicKey: settings.publicKey,
                presharedKey: settings.presharedKey ?? .zero,
                endpoint: first,
                hasConfiguredEndpoint: settings.origin != nil,
                persistentKeepaliveSeconds: settings.persistentKeepaliveSeconds
            )
            do throws(PeerError) {
                let identifier = try core.addPeer(coreSettings, at: moment, actions: &actions)
                let peer = DevicePeer(identifier, settings)
                if let hint = settings.hint { peer.search?.learn(hint) }
                peers[identifier] = peer
                for prefix in settings.allowedIPs { allowedIPs.assign(prefix, to: identifier) }
                // Before the core's actions: they are about a peer that the loop knows.
                outside.post([.addPeer(identifier, peer.watch, endpoint: first)])
            } catch {
                outcome = .failure(error)
            }
        }
        try outcome.get()
    }

    func removePeer(_ peer: DevicePeer) {
        outside.post([.removePeer(peer.identifier)])
        allowedIPs.removeAll(of: peer.identifier)
        peers[peer.identifier] = nil
        carried[peer.publicKey] = nil
        memory.forget(peer.publicKey)
        step { core, _, _ in core.removePeer(peer.identifier) }
    }

    func setPresharedKey(_ key: SecretKey?, of peer: DevicePeer) {
        guard !isSameKey(key, peer.presharedKey) else { return }
        peer.presharedKey = key
        step { core, moment, _ in core.setPresharedKey(key ?? .zero, of: peer.identifier, at: moment) }
    }

    /// - Parameters:
    ///   - text: the endpoint as it is to be shown.
    ///   - hint: where the peer was heard last since it has this endpoint.
    func setEndpoint(_ origin: EndpointSearch.Origin?, text: String?, hint: Endpoint? = nil, of peer: DevicePeer) {
        peer.configuredEndpoint = text
        peer.search = origin.map { EndpointSearch($0) }
        if let hint { peer.search?.learn(hint) }
        step { core, moment, actions in
            core.setEndpoint(
                peer.search?.current,
                isConfigured: origin != nil,
                of: peer.identifier,
                at: moment,
                actions: &actions
            )
        }
    }

    func setPersistentKeepalive(_ seconds: UInt16, of peer: DevicePeer) {
        guard seconds != peer.persistentKeepaliveSeconds else { return }
        peer.persistentKeepaliveSeconds = seconds
        step { core, moment, actions in
            core.setPersistentKeepalive(
                seconds,
                of: peer.identifier,
                sample: peer.watch.sample,
                at: moment,
                actions: &actions
            )
        }
    }

    /// Takes prefixes away and gives others; who had one of them loses it.
    func changeAllowedIPs(of peer: DevicePeer, removing: [IPPrefix] = [], adding: [IPPrefix]) {
        change {
            for prefix in removing { allowedIPs.remove(prefix, from: peer.identifier) }
            for prefix in adding { allowedIPs.assign(prefix, to: peer.identifier) }
        }
    }

    func removeAllAllowedIPs(of peer: DevicePeer) {
        change { allowedIPs.removeAll(of: peer.identifier) }
    }

    /// A peer with the new key's public key can't be one: it is taken away without a word, as `wg` does it.
    func setPrivateKey(_ key: SecretKey) throws(PeerError) {
        guard !key.isEqual(to: core.privateKey) else { return }
        if let own = PublicKey(LibraryCryptography.publicKey(of: key.bytes)), let peer = peer(own) { removePeer(peer) }
        var outcome: Result<Void, PeerError> = .success(())
        step { core, moment, actions in
            do throws(PeerError) {
                try core.setPrivateKey(key, at: moment, actions: &actions)
            } catch {
                outcome = .failure(error)
            }
        }
        try outcome.get()
    }

    func isSameKey(_ a: SecretKey?, _ b: SecretKey?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): a.isEqual(to: b)
        default: false
        }
    }
}
