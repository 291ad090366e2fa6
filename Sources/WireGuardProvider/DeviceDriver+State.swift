import ControlAPI
import NetworkTypes
import WireGuardCore

/// The device as a person reads it: the design's section 3.
extension DeviceDriver {
    /// Enters what the device knows into a state that has its phase already.
    func fill(_ state: inout ProviderState, clock: WallClock) {
        state.publicKey = core.publicKey.description
        state.lastTimestamp = core.lastTimestamp.map { hexadecimal($0.bytes) }
        state.notes += sharedKeyNotes(clock)
        let prefixes = allowedIPs.byOwner
        state.peers = core.peerIdentifiers.compactMap { view(of: $0, prefixes[$0] ?? [], clock: clock) }
        guard isReady else { return }
        let verdict = core.verdict(at: clock.now)
        state.status =
            switch verdict {
            case .connecting: .connecting
            case .connected: .connected
            case .reasserting: .reasserting
            }
        state.stage = .settingsApplied
        if sentLabel != nil { state.stage = .handshakeSent }
        if state.peers.contains(where: { $0.latestHandshake != nil }) { state.stage = .answered }
        guard verdict != .connected else { return }
        if core.path == .lost, let obstacle {
            // What the network says of packets that are kept in tells less.
            for index in state.peers.indices { state.peers[index].failure = nil }
            return state.reason = obstacle
        }
        state.failure = state.peers.first { $0.configuredEndpoint != nil && $0.failure != nil }?.failure
        state.reason = reason(verdict, state)
        if core.isClockBehind(at: Moment(now: clock.now, wallClock: clock.label)) {
            state.notes.append(
                "This machine's clock was set back: a peer may refuse handshakes that look older than earlier ones."
            )
        }
    }

    private func sharedKeyNotes(_ clock: WallClock) -> [String] {
        core.peerIdentifiers.compactMap { identifier in
            guard let known = core.report(of: identifier, sample: sample(of: identifier), at: clock.now),
                known.sharedKeySuspected != nil
            else { return nil }
            return
                "The peer \(known.publicKey) is heard from two addresses in turn: its key may be in use on two machines."
        }
    }

    private func reason(_ verdict: DeviceVerdict, _ state: ProviderState) -> String {
        if verdict == .reasserting, core.path == .lost { return "This machine has no way to the peers." }
        if let failure = state.failure { return failure.message }
        guard let waited = state.peers.first(where: { $0.configuredEndpoint != nil }) else {
            return "The tunnel is getting ready."
        }
        if waited.endpoint == nil, let configured = waited.configuredEndpoint {
            return "The name in \(configured) is being looked up."
        }
        let endpoint = waited.endpoint ?? waited.configuredEndpoint ?? waited.publicKey
        guard verdict == .reasserting else { return "Waiting for an answer from \(endpoint)." }
        if case .restored = core.path {
            return "There is a way to the peers again; waiting for an answer from \(endpoint)."
        }
        return "No peer that was sent data answers."
    }

    private func view(of identifier: PeerIdentifier, _ prefixes: [IPPrefix], clock: WallClock) -> PeerView? {
        guard let peer = peers[identifier],
            let known = core.report(of: identifier, sample: peer.watch.sample, at: clock.now)
        else { return nil }
        let total = total(known)
        return PeerView(
            publicKey: known.publicKey.description,
            endpoint: text(of: known.endpoint),
            configuredEndpoint: peer.configuredEndpoint,
            state: PeerView.State(known.state),
            latestHandshake: known.latestHandshake.map(clock.timestamp(at:)),
            lastHeard: known.lastHeard.map(clock.timestamp(at:)),
            verification: PeerView.Verification(known.verification),
            receivedBytes: total.received,
            sentBytes: total.sent,
            allowedIPs: prefixes.map(\.description),
            persistentKeepalive: peer.persistentKeepaliveSeconds == 0 ? nil : Int(peer.persistentKeepaliveSeconds),
            hasPresharedKey: peer.presharedKey != nil,
            attempts: known.attempts,
            failure: failure(of: peer, known, now: clock.now)
        )
    }

    /// Payload to and from a peer at this interface, by the providers before, too.
    func total(_ known: PeerReport) -> (received: UInt64, sent: UInt64) {
        guard let before = carried[known.publicKey] else { return (known.receivedBytes, known.sentBytes) }
        return (known.receivedBytes &+ before.receivedBytes, known.sentBytes &+ before.sentBytes)
    }

    /// As a person reads it: with the name of the zone's interface, where there is one.
    func text(of endpoint: Endpoint?) -> String? { endpoint?.text(zoneName: outside.interfaceName) }

    /// A look-up that takes longer is worth telling; most are answered in milliseconds.
    private static let usualLookUp = Interval.seconds(2)

    private func failure(of peer: DevicePeer, _ known: PeerReport, now: Instant) -> FailureView? {
        if let search = peer.search, let interface = search.interface, search.isUnresolved, search.current == nil {
            return FailureText.noInterface(interface, endpoint: peer.configuredEndpoint ?? known.publicKey.description)
        }
        if let began = peer.search?.firstLookUpBegan, let endpoint = peer.configuredEndpoint {
            return now < began + Self.usualLookUp ? nil : FailureText.notResolvedYet(endpoint: endpoint)
        }
        var kind = known.failure
        // The first call has gone unanswered; the core says why only when it ends the attempt.
        if kind == nil, known.state == .silent { kind = .silent }
        // So is what a look-up was told.
        if kind == nil, peer.search?.hasFailed == true, peer.search?.current == nil { kind = .name }
        // It resolved meanwhile, and has been called.
        if kind == .name, peer.search?.isUnresolved == false { kind = nil }
        guard let kind else { return nil }
        let configured = peer.configuredEndpoint
        // What is in use now may be another address, which nothing is known of yet.
        let tried: Endpoint? =
            switch kind {
            case .name: nil
            case .unreachable, .refused: peer.failedEndpoint ?? known.endpoint
            case .silent, .answeredNotAuthentic: peer.called ?? known.endpoint
            }
        let endpoint = text(of: tried) ?? configured
        return FailureText.view(
            FailureView.Kind(kind),
            endpoint: endpoint ?? known.publicKey.description,
            attempts: known.attempts,
            detail: peer.failureDetail
        )
    }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

extension FailureView.Kind {
    fileprivate init(_ failure: PeerFailure) {
        switch failure {
        case .name: self = .name
        case .unreachable: self = .unreachable
        case .refused: self = .refused
        case .answeredNotAuthentic: self = .answeredNotAuthentic
        case .silent: self = .silent
        }
    }
}

extension PeerView.State {
    fileprivate init(_ state: PeerReport.State) {
        switch state {
        case .idle: self = .idle
        case .handshaking: self = .handshaking
        case .alive: self = .alive
        case .silent: self = .silent
        }
    }
}

extension PeerView.Verification {
    fileprivate init(_ verification: PeerReport.Verification) {
        switch verification {
        case .live: self = .live
        case .idle: self = .idle
        case .expired: self = .expired
        }
    }
}
