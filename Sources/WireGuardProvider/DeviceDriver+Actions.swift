import Glibc
import LinuxSystem
import NetworkTypes
import WireGuardCore

extension DeviceDriver {
    /// Does what the core says, in order, and what follows from doing it.
    func perform(_ actions: [DeviceAction], at moment: Moment) {
        var actions = actions[...]
        while let action = actions.popFirst() {
            var consequences: [DeviceAction] = []
            perform(action, at: moment, &consequences)
            actions = consequences + actions
        }
    }

    private func perform(_ action: DeviceAction, at moment: Moment, _ consequences: inout [DeviceAction]) {
        switch action {
        case .send(let datagram, let destination, let peer):
            let called = peer.flatMap { peers[$0]?.calls(with: datagram) }
            outside.post([.send(datagram, to: called ?? destination)])
        case .install(let peer, let keys):
            peers[peer]?.initiation = []
            peers[peer]?.search?.answered()
            if let device = peers[peer], let endpoint = device.search?.current {
                memory.note(endpoint.address, of: device.publicKey)
            }
            // The responder may not send before it has heard from us under the new session.
            outside.post(keys.isInitiator ? [.install(peer, keys), .keepalive(peer)] : [.install(peer, keys)])
        case .endpointChanged(let peer, let endpoint):
            peers[peer]?.search?.learn(endpoint)
            outside.post([.setEndpoint(peer, endpoint)])
        case .keepalive(let peer): outside.post([.keepalive(peer)])
        case .dropStaged(let peer): outside.post([.dropStaged(peer)])
        // The core forgets all sessions of a peer at once.
        case .discard(let peer, _): outside.post([.wipeSessions(peer)])
        case .discardExpired(let peer): outside.post([.wipeExpired(peer)])
        case .watch(let peer, let isWatched):
            guard let watch = peers[peer]?.watch, watch.setWatched(isWatched), !isWatched else { return }
            core.trafficChanged(peer, sample: watch.sample, at: moment, actions: &consequences)
        case .tellWhenHeard(let peer, let instant):
            guard let watch = peers[peer]?.watch, watch.askHeard(since: instant) else { return }
            core.trafficChanged(peer, sample: watch.sample, at: moment, actions: &consequences)
        case .resolve(let peer): tryNextEndpoint(of: peer, at: moment, &consequences)
        case .timestampUsed(let label): sentLabel = label
        case .warnSharedKey(let peer, let first, let second):
            guard let key = peers[peer]?.publicKey else { return }
            outside.log(.sharedKey(peer: key, first, second))
        }
    }

    /// The network said something of a datagram to an address, or this machine has no way to it.
    ///
    /// A peer that has another address gets the same initiation there at once: one call has several chances.
    func pathFailed(
        _ endpoint: Endpoint,
        _ code: Int32,
        _ core: inout LibraryDeviceCore,
        at moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        guard let failure = PeerFailure(errno: code) else { return }
        for identifier in core.peers(at: endpoint) {
            guard let peer = peers[identifier] else { continue }
            peer.failureDetail = SystemError.text(code)
            peer.failedEndpoint = endpoint
            core.report(failure, about: identifier)
            guard failure == .unreachable, peer.search?.hasNext == true, let next = peer.search?.advance() else {
                continue
            }
            core.setEndpoint(
                next,
                isConfigured: true,
                isNews: false,
                of: identifier,
                at: moment,
                actions: &actions
            )
            guard !peer.initiation.isEmpty else { continue }
            peer.called = next
            outside.post([.send(peer.initiation, to: next)])
        }
    }
}

extension PeerFailure {
    /// What an errno of sending says of the peer; nil where it says nothing (a full buffer, a datagram too long).
    init?(errno code: Int32) {
        switch code {
        case ECONNREFUSED: self = .refused
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EADDRNOTAVAIL, EAFNOSUPPORT, EACCES, EPERM, ENOPROTOOPT:
            self = .unreachable
        default: return nil
        }
    }
}
