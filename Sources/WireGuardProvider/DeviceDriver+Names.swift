import NetworkTypes
import WireGuardCore

/// Where peers are looked for.
extension DeviceDriver {
    /// The answer to a look-up.
    ///
    /// - Parameters:
    ///   - addresses: none where the name doesn't resolve.
    ///   - failure: why it doesn't.
    ///   - isAnswer: whether a resolver says so; false where none could be asked.
    func lookedUp(
        _ name: String,
        for identifier: PeerIdentifier,
        _ addresses: [IPAddress],
        failure: String?,
        isAnswer: Bool = true
    ) {
        step { core, moment, actions in
            // The peer may have gone, or have got another endpoint meanwhile.
            guard let peer = peers[identifier], peer.search?.name == name else { return }
            let known = peer.search?.addresses
            let winner = memory.winner(of: peer.publicKey)
            let found = peer.search?.resolved(addresses, preferred: winner, isAnswer: isAnswer, now: moment.now)
            if let endpoint = found {
                core.setEndpoint(
                    endpoint,
                    isConfigured: true,
                    isNews: peer.search?.addresses != known,
                    of: identifier,
                    at: moment,
                    actions: &actions
                )
            } else if peer.search?.current == nil {
                peer.failureDetail = failure
                core.report(.name, about: identifier)
            } else if core.report(of: identifier, sample: peer.watch.sample, at: moment.now)?.attempts == 0 {
                // It has answered meanwhile.
                peer.search?.answered()
            }
        }
    }

    /// The present endpoint doesn't answer: another address, or another look-up.
    func tryNextEndpoint(of identifier: PeerIdentifier, at moment: Moment, _ actions: inout [DeviceAction]) {
        // One that hasn't been called yet has its turn first.
        guard let peer = peers[identifier], let current = peer.search?.current, peer.called == current,
            let next = peer.search?.advance()
        else { return }
        core.setEndpoint(
            next,
            isConfigured: true,
            isNews: false,
            of: identifier,
            at: moment,
            actions: &actions
        )
    }

    /// Asks for the names that are due, and for the interfaces of link-local addresses.
    func lookUpNames(now: Instant) {
        for peer in peers.values {
            guard peer.search?.ask(now: now) == true else { continue }
            if let name = peer.search?.name { outside.lookUp(name, for: peer.identifier) }
            if let interface = peer.search?.interface { lookFor(interface, of: peer) }
        }
    }

    private func lookFor(_ interface: String, of peer: DevicePeer) {
        let index = outside.interfaceIndex(interface)
        step { core, moment, actions in
            if let endpoint = peer.search?.found(interface: index, now: moment.now) {
                core.setEndpoint(endpoint, isConfigured: true, of: peer.identifier, at: moment, actions: &actions)
            } else if peer.search?.current == nil {
                // To the core it is like a name that doesn't resolve; a person is told what it is.
                core.report(.name, about: peer.identifier)
            }
        }
    }

    /// When the next name is to be looked up.
    var nextLookUp: Instant? { peers.values.compactMap { $0.search?.deadline }.min() }
}
