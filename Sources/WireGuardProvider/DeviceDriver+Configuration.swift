import ControlAPI
import NetworkTypes
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

/// A configuration and its keys, ready to be applied: nothing in it can fail any more but a public key.
struct DevicePlan {
    let configuration: WireGuardConfiguration
    let privateKey: SecretKey
    let peers: [DevicePeerSettings]

    /// - Throws: `configurationInvalid` with the fields, `secretUnavailable`.
    init(_ json: JSONValue, secrets: DeviceSecrets, hints: [PublicKey: Endpoint] = [:]) throws(ControlError) {
        do {
            configuration = try WireGuardConfiguration(json: json)
        } catch {
            throw ControlError(
                .configurationInvalid,
                "The tunnel's configuration can't be used.",
                reason: error.description,
                remedy: "Correct it and save it again.",
                field: error.errors.first.map { "provider.configuration.\($0.field)" }
            )
        }
        privateKey = try secrets.key(configuration.privateKeyReference, field: "privateKeyReference")
        var peers: [DevicePeerSettings] = []
        for (index, peer) in configuration.peers.enumerated() {
            guard let publicKey = PublicKey(peer.publicKey.bytes) else { continue }
            var settings = DevicePeerSettings(publicKey: publicKey)
            if let reference = peer.presharedKeyReference {
                settings.presharedKey = try secrets.key(reference, field: "peers[\(index)].presharedKeyReference")
            }
            settings.origin = peer.endpoint.map { $0.origin }
            settings.configuredEndpoint = peer.endpoint?.description
            settings.hint = hints[publicKey]
            settings.persistentKeepaliveSeconds = peer.persistentKeepalive ?? 0
            settings.allowedIPs = peer.networks
            peers.append(settings)
        }
        self.peers = peers
    }

    /// Finds the public keys that can't be those of peers, before anything is changed.
    func check() throws(ControlError) {
        let own = PublicKey(LibraryCryptography.publicKey(of: privateKey.bytes))
        for (index, peer) in peers.enumerated() {
            let reason: String? =
                if peer.publicKey == own {
                    "It is this tunnel's own public key."
                } else if !isUsable(peer.publicKey, with: privateKey) {
                    "With this key no secret can be agreed upon: it is one of the few of small order."
                } else {
                    nil
                }
            guard let reason else { continue }
            throw ControlError(
                .configurationInvalid,
                "A peer's public key can't be used.",
                reason: reason,
                remedy: "Write the peer's own public key.",
                field: "provider.configuration.peers[\(index)].publicKey"
            )
        }
    }
}

/// Whether a secret can be agreed upon with the owner of a public key.
func isUsable(_ publicKey: PublicKey, with privateKey: SecretKey) -> Bool {
    var isShared = false
    _ = SecretKey { output in
        let bytes = publicKey.bytes
        isShared = unsafe LibraryCryptography.sharedSecret(
            privateKey: privateKey.bytes,
            publicKey: bytes.span.bytes,
            into: &output
        )
    }
    return isShared
}

extension DeviceDriver {
    /// Gives a new device its peers.
    func addPeers(of plan: DevicePlan) throws(PeerError) {
        try change { () throws(PeerError) in
            for peer in plan.peers { try addPeer(peer) }
        }
    }

    /// Applies what is different between two configurations; what neither changes stays, also what `wg set` changed.
    func apply(_ plan: DevicePlan, inPlaceOf old: DevicePlan) throws(PeerError) {
        try change { () throws(PeerError) in try applyDifferences(plan, old) }
    }

    private func applyDifferences(_ plan: DevicePlan, _ old: DevicePlan) throws(PeerError) {
        let kept = Set(plan.peers.map(\.publicKey))
        for settings in old.peers where !kept.contains(settings.publicKey) {
            if let peer = peer(settings.publicKey) { removePeer(peer) }
        }
        if !plan.privateKey.isEqual(to: old.privateKey) { try setPrivateKey(plan.privateKey) }
        for settings in plan.peers {
            guard let peer = peer(settings.publicKey) else {
                try addPeer(settings)
                continue
            }
            change(peer, to: settings, from: old.peers.first { $0.publicKey == settings.publicKey })
        }
    }

    private func change(_ peer: DevicePeer, to new: DevicePeerSettings, from old: DevicePeerSettings?) {
        // A new pre-shared key under the old reference counts too, so the keys are compared.
        setPresharedKey(new.presharedKey, of: peer)
        if new.origin != old?.origin { setEndpoint(new.origin, text: new.configuredEndpoint, of: peer) }
        if new.persistentKeepaliveSeconds != old?.persistentKeepaliveSeconds {
            setPersistentKeepalive(new.persistentKeepaliveSeconds, of: peer)
        }
        let before = Set(old?.allowedIPs ?? [])
        let after = Set(new.allowedIPs)
        guard before != after else { return }
        changeAllowedIPs(
            of: peer,
            removing: Array(before.subtracting(after)),
            adding: new.allowedIPs.filter { !before.contains($0) }
        )
    }
}

extension PeerEndpoint {
    /// Where to look for the peer.
    var origin: EndpointSearch.Origin {
        switch host {
        case .name(let name): .name(name, port: port)
        case .address(let address, let zone?): .zoned(address, interface: zone, port: port)
        case .address(let address, nil): .address(Endpoint(address, port: port))
        }
    }
}
