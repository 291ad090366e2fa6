import NetworkTypes
import WireGuardCore

/// What is different from the configuration: the session's own, made by `wg set`.
extension DeviceDriver {
    /// What makes a device that has just the plan's peers one like this; empty where that is so already.
    func changes(since plan: DevicePlan) -> DeviceChange {
        var change = DeviceChange()
        if !core.privateKey.isEqual(to: plan.privateKey) { change.privateKey = .set(core.privateKey) }
        var configured: [PublicKey: DevicePeerSettings] = [:]
        // Removals come first, so that there are never more peers than there were.
        for settings in plan.peers {
            if isSame(settings, peer(settings.publicKey)) {
                configured[settings.publicKey] = settings
            } else {
                var section = DeviceChange.Peer(publicKey: settings.publicKey)
                section.remove = true
                change.peers.append(section)
            }
        }
        let prefixes = allowedIPs.byOwner
        for identifier in core.peerIdentifiers {
            guard let peer = peers[identifier] else { continue }
            let section = section(peer, prefixes[identifier] ?? [], since: configured[peer.publicKey])
            if let section { change.peers.append(section) }
        }
        return change
    }

    /// Whether a peer can be one that was configured: an endpoint can be changed, but not be taken away.
    private func isSame(_ settings: DevicePeerSettings, _ peer: DevicePeer?) -> Bool {
        guard let peer else { return false }
        return peer.search != nil || settings.origin == nil
    }

    /// - Parameter settings: the peer as it was configured; nil for one that wasn't.
    /// - Returns: nil where nothing is different.
    private func section(
        _ peer: DevicePeer,
        _ prefixes: [IPPrefix],
        since settings: DevicePeerSettings?
    ) -> DeviceChange.Peer? {
        var section = DeviceChange.Peer(publicKey: peer.publicKey)
        var isDifferent = settings == nil
        if !isSameKey(peer.presharedKey, settings?.presharedKey) {
            section.presharedKey = peer.presharedKey.map { .set($0) } ?? .remove
            isDifferent = true
        }
        if let origin = peer.search?.origin, origin != settings?.origin, case .address(let endpoint) = origin {
            section.endpoint = endpoint
            isDifferent = true
        }
        if peer.persistentKeepaliveSeconds != settings?.persistentKeepaliveSeconds ?? 0 {
            section.persistentKeepalive = peer.persistentKeepaliveSeconds
            isDifferent = true
        }
        if Set(prefixes) != Set(settings?.allowedIPs ?? []) {
            section.replaceAllowedIPs = true
            section.allowedIPs = prefixes.map { DeviceChange.AllowedIP($0) }
            isDifferent = true
        }
        return isDifferent ? section : nil
    }
}
