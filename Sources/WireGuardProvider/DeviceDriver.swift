import ControlAPI
import LinuxSystem
import NetworkTypes
import WireGuardCore

/// Drives a `DeviceCore`: feeds it what happens, does what it says, and arms the one timer.
///
/// Belongs to the control queue. It owns the peers as they are now: configured, and changed by `wg set`.
final class DeviceDriver {
    var core: LibraryDeviceCore
    let outside: any DeviceOutside
    var peers: [PeerIdentifier: DevicePeer] = [:]
    /// Told to the loop when a change of it is complete.
    var allowedIPs = AllowedIPs<PeerIdentifier>() { didSet { isTableStale = true } }
    /// What an earlier provider counted of peers, for as long as they stay.
    var carried: [PublicKey: ProviderCalls.PeerCounters] = [:]
    var isReady = false
    /// Which of its addresses each peer answered at, by network.
    var memory = EndpointMemory()
    /// The latest label that this run has sent; nil before the first initiation.
    var sentLabel: WireGuardCore.Timestamp?
    /// Why there is no way to the peers, as tunneld told it; nil where there is one, or no more is known.
    var obstacle: String?
    private var isTableStale = false
    private var summary: DeviceSummary?
    /// How many changes, one in another, are under way.
    private var changesUnderWay = 0

    init(_ core: consuming LibraryDeviceCore, outside: any DeviceOutside) {
        self.core = core
        self.outside = outside
    }

    /// The network settings are in force: peers are called and answered from now on.
    func start() {
        guard !isReady else { return }
        isReady = true
        step { $0.start(at: $1, actions: &$2) }
    }

    /// The timer's time has come.
    func expire() {
        step { [peers] core, moment, actions in
            core.expire(at: moment, samples: { peers[$0]?.watch.sample ?? TrafficSample() }, actions: &actions)
        }
    }

    /// The network changed.
    func networkChanged(_ change: PathChange) {
        for peer in peers.values { peer.search?.networkChanged(isOther: change == .moved) }
        step { [peers] core, moment, actions in
            core.networkChanged(
                change,
                at: moment,
                samples: { peers[$0]?.watch.sample ?? TrafficSample() },
                actions: &actions
            )
        }
    }

    /// Takes what the packet loop tells; `deviceFailed` and `socketFailed` are the tunnel's own affair.
    func take(_ notices: [LoopNotice]) {
        let isFlood = notices.allSatisfy { if case .handshake = $0 { true } else { false } }
        step(isQuiet: isFlood) { core, moment, actions in
            for notice in notices { take(notice, &core, moment, &actions) }
        }
    }

    /// Feeds the core, does what it says, and what follows from that unless a larger change is under way.
    ///
    /// - Parameter isQuiet: whether nothing is to be told to tunneld where the core says nothing, as with messages that came
    ///   to nothing.
    func step(isQuiet: Bool = false, _ body: (inout LibraryDeviceCore, Moment, inout [DeviceAction]) -> Void) {
        let moment = outside.moment()
        var actions: [DeviceAction] = []
        body(&core, moment, &actions)
        let hasActions = !actions.isEmpty
        perform(actions, at: moment)
        if changesUnderWay == 0 { settle(at: moment, isQuiet: isQuiet && !hasActions) }
    }

    /// Makes a change of many steps: the table, the look-ups, the timer and the report come once, behind it.
    func change<E>(_ body: () throws(E) -> Void) throws(E) {
        changesUnderWay += 1
        defer {
            changesUnderWay -= 1
            if changesUnderWay == 0 { settle(at: outside.moment(), isQuiet: false) }
        }
        try body()
    }

    private func settle(at moment: Moment, isQuiet: Bool) {
        if isTableStale {
            isTableStale = false
            outside.post([.setAllowedIPs(allowedIPs.table())])
        }
        // What comes of one at once is settled below.
        changesUnderWay += 1
        lookUpNames(now: moment.now)
        changesUnderWay -= 1
        outside.arm([core.deadline, nextLookUp].compactMap(\.self).min())
        if !isQuiet { tellChanges(at: moment) }
    }

    func sample(of peer: PeerIdentifier) -> TrafficSample { peers[peer]?.watch.sample ?? TrafficSample() }

    private func take(
        _ notice: LoopNotice,
        _ core: inout LibraryDeviceCore,
        _ moment: Moment,
        _ actions: inout [DeviceAction]
    ) {
        switch notice {
        case .handshake(let datagram, let source): core.receive(datagram, from: source, at: moment, actions: &actions)
        case .handshakeWanted(let peer):
            core.handshakeWanted(peer, sample: sample(of: peer), at: moment, actions: &actions)
        case .timerWanted(let peer), .heard(let peer):
            core.trafficChanged(peer, sample: sample(of: peer), at: moment, actions: &actions)
        case .confirmed(let peer, let localIndex):
            core.confirmed(peer, localIndex: localIndex, sample: sample(of: peer), at: moment, actions: &actions)
        case .roamed(let peer, let endpoint):
            peers[peer]?.search?.learn(endpoint)
            core.roamed(peer, to: endpoint, at: moment, actions: &actions)
        case .pathError(let endpoint?, let code):
            pathFailed(endpoint, code, &core, at: moment, &actions)
        case .pathError(nil, _), .blackHole, .socketFailed, .abilitiesChanged, .deviceFailed: break
        }
    }

    /// Tells tunneld where something changed that it shows or keeps; never for packets alone.
    private func tellChanges(at moment: Moment) {
        let present = DeviceSummary(of: self, at: moment)
        guard present != summary else { return }
        if isReady, present.verdict != summary?.verdict {
            outside.log(present.verdict == .reasserting && core.path == .lost ? .pathLost : .verdict(present.verdict))
        }
        summary = present
        outside.changed()
    }
}

/// What makes a report to tunneld worth while.
private struct DeviceSummary: Equatable {
    private struct Peer: Equatable {
        let endpoint: Endpoint?
        let state: PeerReport.State
        let failure: PeerFailure?
        /// The times of later ones are read when they are asked for: a gateway has one every few milliseconds.
        let hasHandshake: Bool
    }

    let verdict: DeviceVerdict
    private let sentLabel: WireGuardCore.Timestamp?
    private let peers: [PublicKey: Peer]
    private let obstacle: String?

    init(of driver: DeviceDriver, at moment: Moment) {
        verdict = driver.core.verdict(at: moment.now)
        sentLabel = driver.sentLabel
        obstacle = driver.obstacle
        var peers: [PublicKey: Peer] = [:]
        for identifier in driver.peers.keys {
            guard let report = driver.core.report(of: identifier, sample: driver.sample(of: identifier), at: moment.now)
            else { continue }
            peers[report.publicKey] = Peer(
                endpoint: report.endpoint,
                // Alive or idle is a matter of time, read when it is asked for.
                state: report.state == .alive ? .idle : report.state,
                failure: report.failure,
                hasHandshake: report.latestHandshake != nil
            )
        }
        self.peers = peers
    }
}
