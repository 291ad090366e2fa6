import NetworkTypes
import TestSupport
import TunnelCrypto
import WireGuardCore

typealias TestCore = DeviceCore<LibraryCryptography, SeededGenerator>

/// A device: the core under test, and a small packet loop that keeps the promises of the real one.
final class SimulatedNode {
    private(set) var core: TestCore
    private unowned let network: SimulatedNetwork
    var address: Endpoint
    private(set) var links: [PeerIdentifier: SimulatedLink] = [:]
    /// Content of the packets that came in, in order.
    private(set) var received: [[UInt8]] = []
    private(set) var resolves: [PeerIdentifier] = []
    private(set) var warnings = 0
    /// Sessions that were wiped for their age, beside those that are with all others of their peer.
    private(set) var discarded = 0
    private(set) var timestamps: [Timestamp] = []
    private(set) var timerCount = 0
    private(set) var verdicts: [(time: Instant, verdict: DeviceVerdict)] = []
    /// Whether each packet with content is answered with one.
    var echoes = false

    /// What an answer begins with, so that it isn't answered in turn.
    static let echo: [UInt8] = [0xe0, 0xc0, 0xe0, 0xc0]

    init(_ network: SimulatedNetwork, _ address: String, seed: UInt64, lastTimestamp: Timestamp? = nil, key: UInt8) {
        guard let endpoint = Endpoint(address), let privateKey = SecretKey.counting(key),
            let core = TestCore(
                privateKey: privateKey,
                random: SeededGenerator(seed: seed),
                lastTimestamp: lastTimestamp
            )
        else { preconditionFailure("a bad address or key in a test") }
        self.core = core
        self.network = network
        self.address = endpoint
        network.add(self)
    }

    var publicKey: PublicKey { core.publicKey }
    var deadline: Instant? { core.deadline }
    var verdict: DeviceVerdict { core.verdict(at: network.now) }
    var firstPeer: PeerIdentifier { core.peerIdentifiers.first ?? PeerIdentifier(0) }
    var counters: HandshakeCounters { core.counters }
    var lastTimestamp: Timestamp? { core.lastTimestamp }

    func report(_ peer: PeerIdentifier? = nil) -> PeerReport? {
        let peer = peer ?? firstPeer
        return core.report(of: peer, sample: links[peer]?.sample ?? TrafficSample(), at: network.now)
    }

    @discardableResult
    func addPeer(
        _ key: PublicKey,
        endpoint: Endpoint? = nil,
        isConfigured: Bool? = nil,
        presharedKey: SecretKey = .zero,
        keepalive: UInt16 = 0
    ) -> PeerIdentifier {
        let settings = PeerSettings(
            publicKey: key,
            presharedKey: presharedKey,
            endpoint: endpoint,
            hasConfiguredEndpoint: isConfigured ?? (endpoint != nil),
            persistentKeepaliveSeconds: keepalive
        )
        var actions: [DeviceAction] = []
        guard let peer = try? core.addPeer(settings, at: network.moment, actions: &actions) else {
            preconditionFailure("a bad peer in a test")
        }
        links[peer] = SimulatedLink(endpoint: endpoint)
        perform(actions)
        return peer
    }

    func removePeer(_ peer: PeerIdentifier) {
        core.removePeer(peer)
        links[peer] = nil
    }

    /// Calls the core and does what it asks for.
    func with(_ body: (inout TestCore, inout [DeviceAction]) -> Void) {
        var actions: [DeviceAction] = []
        body(&core, &actions)
        perform(actions)
    }

    func start() {
        let moment = network.moment
        with { $0.start(at: moment, actions: &$1) }
    }

    func fire() {
        timerCount += 1
        let moment = network.moment
        let samples = links.mapValues(\.sample)
        with { core, actions in
            core.expire(at: moment, samples: { samples[$0] ?? TrafficSample() }, actions: &actions)
        }
    }

    /// A packet from the TUN device.
    func send(_ content: [UInt8], to peer: PeerIdentifier? = nil) {
        let peer = peer ?? firstPeer
        guard let link = links[peer] else { return }
        link.staged.append(content)
        flush(peer, link)
        settle(peer, link)
    }

    func receive(_ datagram: [UInt8], from source: Endpoint) {
        guard datagram.first == 4 else {
            let moment = network.moment
            with { $0.receive(datagram, from: source, at: moment, actions: &$1) }
            return
        }
        receiveTransport(datagram, from: source)
    }

    private func receiveTransport(_ datagram: [UInt8], from source: Endpoint) {
        var copy = datagram
        var span = copy.mutableSpan
        guard let header = try? TransportHeader(parsing: unsafe span.mutableBytes),
            let (peer, link) = links.first(where: { $0.value.pair(header.receiver) != nil }),
            let pair = link.pair(header.receiver), !pair.isRejected(at: network.now),
            let content = pair.open(datagram, header), pair.accept(header.counter)
        else { return }
        link.sample.noteReceived(isData: !content.isEmpty, bytes: datagram.count, now: network.now)
        let moment = network.moment
        if link.slots.next === pair {
            _ = link.slots.promote()
            link.asked = nil
            let sample = link.sample
            with { $0.confirmed(peer, localIndex: header.receiver, sample: sample, at: moment, actions: &$1) }
            flush(peer, link)
        }
        if link.endpoint != source {
            link.endpoint = source
            with { $0.roamed(peer, to: source, at: moment, actions: &$1) }
        }
        if !content.isEmpty {
            received.append(content)
            if echoes, !content.starts(with: Self.echo) { send(Self.echo + content, to: peer) }
        }
        if pair.isRekeyDueOnReceive(at: network.now) { wantHandshake(peer, link) }
        settle(peer, link)
        guard let after = link.tellAfter, let heard = link.sample.lastAnyReceived, heard > after else { return }
        link.tellAfter = nil
        let sample = link.sample
        with { $0.trafficChanged(peer, sample: sample, at: moment, actions: &$1) }
    }

    /// Sends all that waits, if there is a session for it.
    private func flush(_ peer: PeerIdentifier, _ link: SimulatedLink) {
        guard let pair = link.slots.current, !pair.isRejected(at: network.now), let endpoint = link.endpoint else {
            link.sample.isWaiting = !link.staged.isEmpty
            if link.sample.isWaiting { wantHandshake(peer, link) }
            return
        }
        let packets = link.staged
        link.staged = []
        link.sample.isWaiting = false
        for content in packets { transmit(content, pair, peer, link, endpoint) }
    }

    private func transmit(
        _ content: [UInt8],
        _ pair: SimulatedPair,
        _ peer: PeerIdentifier,
        _ link: SimulatedLink,
        _ endpoint: Endpoint
    ) {
        let datagram = pair.seal(content)
        link.sample.noteSent(isData: !content.isEmpty, bytes: datagram.count, now: network.now)
        network.send(datagram, from: address, to: endpoint)
        if pair.isRekeyDueOnSend(at: network.now) { wantHandshake(peer, link) }
    }

    private func wantHandshake(_ peer: PeerIdentifier, _ link: SimulatedLink) {
        if let asked = link.asked, network.now < asked + .seconds(1) { return }
        link.asked = network.now
        let (sample, moment) = (link.sample, network.moment)
        with { $0.handshakeWanted(peer, sample: sample, at: moment, actions: &$1) }
    }

    /// Calls for a timer as the real loop does.
    private func settle(_ peer: PeerIdentifier, _ link: SimulatedLink) {
        guard link.sample.wantsTimer, !link.isWatched else { return }
        link.isWatched = true
        let (sample, moment) = (link.sample, network.moment)
        with { $0.trafficChanged(peer, sample: sample, at: moment, actions: &$1) }
    }

    private func perform(_ actions: [DeviceAction]) {
        for action in actions { perform(action) }
        if verdicts.last?.verdict != verdict { verdicts.append((network.now, verdict)) }
    }

    private func perform(_ action: DeviceAction) {
        switch action {
        case .send(let datagram, let endpoint, _):
            network.send(datagram, from: address, to: endpoint)
        case .install(let peer, let keys):
            guard let link = links[peer] else { return }
            _ = link.slots.install(SimulatedPair(keys), isInitiator: keys.isInitiator)
            link.asked = nil
            link.sample.noteInstalled(isInitiator: keys.isInitiator, now: network.now)
            if keys.isInitiator { sendSomething(peer, link) }
        case .endpointChanged(let peer, let endpoint):
            links[peer]?.endpoint = endpoint
        case .keepalive(let peer):
            if let link = links[peer] { sendSomething(peer, link) }
        case .dropStaged(let peer):
            links[peer]?.staged = []
            links[peer]?.sample.isWaiting = false
            links[peer]?.asked = nil
        case .discard(let peer, let localIndex):
            links[peer]?.discard(localIndex)
        case .discardExpired(let peer):
            discarded += links[peer]?.slots.remove { $0.isRejected(at: network.now) }.count ?? 0
        case .watch(let peer, let isWatched):
            watch(peer, isWatched)
        case .tellWhenHeard(let peer, let after):
            links[peer]?.tellAfter = after
        case .resolve(let peer): resolves.append(peer)
        case .timestampUsed(let timestamp): timestamps.append(timestamp)
        case .warnSharedKey: warnings += 1
        }
    }

    private func watch(_ peer: PeerIdentifier, _ isWatched: Bool) {
        guard let link = links[peer] else { return }
        link.isWatched = isWatched || link.sample.wantsTimer
        guard !isWatched, link.sample.wantsTimer else { return }
        let (sample, moment) = (link.sample, network.moment)
        with { $0.trafficChanged(peer, sample: sample, at: moment, actions: &$1) }
    }

    private func sendSomething(_ peer: PeerIdentifier, _ link: SimulatedLink) {
        if link.staged.isEmpty {
            guard let pair = link.slots.current, !pair.isRejected(at: network.now), let endpoint = link.endpoint else {
                return
            }
            transmit([], pair, peer, link, endpoint)
        } else {
            flush(peer, link)
        }
        settle(peer, link)
    }
}

/// A peer as the loop of a node has it.
final class SimulatedLink {
    var endpoint: Endpoint?
    var slots = KeyPairSlots<SimulatedPair>()
    var sample = TrafficSample()
    var staged: [[UInt8]] = []
    var isWatched = false
    var asked: Instant?
    var tellAfter: Instant?

    init(endpoint: Endpoint?) { self.endpoint = endpoint }

    func pair(_ localIndex: UInt32) -> SimulatedPair? { slots.all.first { $0.keys.localIndex == localIndex } }

    func discard(_ localIndex: UInt32) {
        let kept = slots.all.filter { $0.keys.localIndex != localIndex }
        if kept.isEmpty { slots.removeAll() }
    }
}

/// A session as the loop of a node has it.
final class SimulatedPair {
    let keys: SessionKeys
    private var counter: UInt64 = 0
    private var window = ReplayWindow()

    init(_ keys: SessionKeys) { self.keys = keys }

    func seal(_ content: [UInt8]) -> [UInt8] {
        defer { counter += 1 }
        let (none, key) = ([UInt8](), keys.sendKey)
        let nonce = [0, 0, 0, 0] + littleEndian(counter, 8)
        let header = [4, 0, 0, 0] + littleEndian(UInt64(keys.remoteIndex), 4) + littleEndian(counter, 8)
        return header
            + LibraryCryptography.seal(
                content.raw,
                key: key.bytes,
                nonce: nonce.raw,
                additional: none.raw
            )
    }

    func open(_ datagram: [UInt8], _ header: TransportHeader) -> [UInt8]? {
        let (none, key) = ([UInt8](), keys.receiveKey)
        let nonce = [0, 0, 0, 0] + littleEndian(header.counter, 8)
        let sealed = Array(datagram.dropFirst(16))
        var content = [UInt8](repeating: 0, count: header.plaintextLength)
        var span = content.mutableSpan
        var output = unsafe span.mutableBytes
        let isAuthentic = LibraryCryptography.open(
            sealed.raw,
            key: key.bytes,
            nonce: nonce.raw,
            additional: none.raw,
            into: &output
        )
        return isAuthentic ? content : nil
    }

    func accept(_ counter: UInt64) -> Bool { window.accept(counter) }

    func isRejected(at now: Instant) -> Bool {
        SessionLimits.isRejected(createdAt: keys.createdAt, counter: counter, now: now)
    }

    func isRekeyDueOnSend(at now: Instant) -> Bool {
        SessionLimits.isRekeyDueOnSend(
            createdAt: keys.createdAt,
            isInitiator: keys.isInitiator,
            counter: counter,
            now: now
        )
    }

    func isRekeyDueOnReceive(at now: Instant) -> Bool {
        SessionLimits.isRekeyDueOnReceive(createdAt: keys.createdAt, isInitiator: keys.isInitiator, now: now)
    }

    private func littleEndian(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64($0 * 8)) }
    }
}

extension SecretKey {
    /// A key for tests that differs by number.
    static func counting(_ number: UInt8) -> SecretKey? {
        let bytes = (0..<32).map { UInt8($0) ^ (number &* 3) }
        return SecretKey(copying: bytes.raw)
    }
}
