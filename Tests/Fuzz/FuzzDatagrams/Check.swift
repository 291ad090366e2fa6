import NetworkTypes
import TunnelCrypto
import WireGuardCore

/// Plays a script against two devices: datagrams of any content, changed and repeated messages, time, traffic.
///
/// Whatever happens, their tables stay small, and a device that starts anew can connect afterwards.
func checkDatagrams(_ script: [UInt8]) {
    guard var play = Play() else { fatalError("the devices can't be made") }
    var bytes = script[...]
    // A script is as long as its author likes; a run is not.
    for _ in 0..<400 {
        guard let step = bytes.popFirst() else { break }
        play.perform(step, &bytes)
    }
    play.finish()
}

private struct Play: ~Copyable {
    private typealias Core = DeviceCore<LibraryCryptography, Numbers>

    /// Repeatable random numbers.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private var now = Instant.zero + .seconds(100)
    private var wallSeconds: Int64 = 1_700_000_000
    private var laptop: Core
    private var gateway: Core
    private let laptopPeer: PeerIdentifier
    private let gatewayPeer: PeerIdentifier
    private let laptopAddress = Endpoint(.v4(IPv4Address(192, 0, 2, 1)), port: 1000)
    private let gatewayAddress = Endpoint(.v4(IPv4Address(192, 0, 2, 2)), port: 51820)
    /// What each side sent last.
    private var fromLaptop: [UInt8] = []
    private var fromGateway: [UInt8] = []
    private var installs = 0

    init?() {
        guard var laptop = Self.device(1, seed: 1), var gateway = Self.device(2, seed: 2) else { return nil }
        let moment = Moment(now: now, wallClock: Timestamp(wallSeconds: wallSeconds, nanoseconds: 0))
        var (called, waited): ([DeviceAction], [DeviceAction]) = ([], [])
        let caller = PeerSettings(
            publicKey: gateway.publicKey,
            endpoint: gatewayAddress,
            hasConfiguredEndpoint: true,
            persistentKeepaliveSeconds: 25
        )
        let waiter = PeerSettings(publicKey: laptop.publicKey)
        guard let laptopPeer = try? laptop.addPeer(caller, at: moment, actions: &called),
            let gatewayPeer = try? gateway.addPeer(waiter, at: moment, actions: &waited)
        else { return nil }
        self.laptopPeer = laptopPeer
        self.gatewayPeer = gatewayPeer
        gateway.start(at: moment, actions: &waited)
        laptop.start(at: moment, actions: &called)
        self.laptop = laptop
        self.gateway = gateway
        take(called, fromLaptop: true)
    }

    private static func device(_ number: UInt8, seed: UInt64) -> Core? {
        let key = SecretKey { $0.storeBytes(of: number, toByteOffset: 9, as: UInt8.self) }
        return Core(privateKey: key, random: Numbers(state: seed))
    }

    private var moment: Moment {
        Moment(now: now, wallClock: Timestamp(wallSeconds: wallSeconds, nanoseconds: 0))
    }

    mutating func perform(_ step: UInt8, _ bytes: inout ArraySlice<UInt8>) {
        let toGateway = step & 0x80 == 0
        switch step & 7 {
        case 0: deliver(raw(&bytes), toGateway)
        case 1: deliver(signed(raw(&bytes), toGateway), toGateway)
        case 2: deliver(changed(toGateway ? fromLaptop : fromGateway, &bytes), toGateway)
        case 3: deliver(signed(changed(toGateway ? fromLaptop : fromGateway, &bytes), toGateway), toGateway)
        case 4: advance(Interval.milliseconds(Int(bytes.popFirst() ?? 0) * Int(bytes.popFirst() ?? 1)))
        case 5: wantHandshake(toGateway, isWaiting: bytes.popFirst() ?? 0)
        case 6: confirm(toGateway, &bytes)
        default: change(toGateway, bytes.popFirst() ?? 0)
        }
        precondition(laptop.indexCount <= 4 && gateway.indexCount <= 4, "indices pile up")
        precondition(laptop.sourceCount <= 2 * 4096 && gateway.sourceCount <= 2 * 4096, "sources pile up")
    }

    /// A device with the laptop's key that starts anew must be able to connect.
    mutating func finish() {
        now = now + .seconds(30)
        let last = [laptop.lastTimestamp, Timestamp(wallSeconds: wallSeconds, nanoseconds: 0)].compactMap { $0 }.max()
        guard
            var fresh = Core(
                privateKey: laptop.privateKey,
                random: Numbers(state: 77),
                lastTimestamp: last?.adding(seconds: 5000)
            )
        else { fatalError("the device can't be made") }
        var actions: [DeviceAction] = []
        fresh.start(at: moment, actions: &actions)
        let settings = PeerSettings(
            publicKey: gateway.publicKey,
            endpoint: gatewayAddress,
            hasConfiguredEndpoint: true
        )
        _ = try? fresh.addPeer(settings, at: moment, actions: &actions)
        for _ in 0..<4 where fresh.verdict(at: now) != .connected {
            take(actions, fromLaptop: true)
            deliver(fromLaptop, true)
            actions = []
            fresh.receive(fromGateway, from: gatewayAddress, at: moment, actions: &actions)
            now = now + .seconds(61)
            fresh.expire(at: moment, samples: { _ in TrafficSample() }, actions: &actions)
        }
        precondition(fresh.verdict(at: now) == .connected, "an honest device can't connect any more")
    }

    private mutating func deliver(_ datagram: [UInt8], _ toGateway: Bool) {
        var actions: [DeviceAction] = []
        if toGateway {
            gateway.receive(datagram, from: laptopAddress, at: moment, actions: &actions)
        } else {
            laptop.receive(datagram, from: gatewayAddress, at: moment, actions: &actions)
        }
        precondition(actions.count <= 16, "one datagram asks for much")
        take(actions, fromLaptop: !toGateway)
    }

    private mutating func take(_ actions: [DeviceAction], fromLaptop isLaptop: Bool) {
        for action in actions {
            guard case .send(let datagram, _, _) = action else { continue }
            if isLaptop { fromLaptop = datagram } else { fromGateway = datagram }
        }
    }

    private mutating func advance(_ interval: Interval) {
        now = now + interval
        wallSeconds += interval.nanoseconds / 1_000_000_000
        var (called, waited): ([DeviceAction], [DeviceAction]) = ([], [])
        laptop.expire(at: moment, samples: { _ in TrafficSample() }, actions: &called)
        gateway.expire(at: moment, samples: { _ in TrafficSample() }, actions: &waited)
        take(called, fromLaptop: true)
        take(waited, fromLaptop: false)
    }

    private mutating func wantHandshake(_ ofGateway: Bool, isWaiting: UInt8) {
        var sample = TrafficSample()
        sample.isWaiting = isWaiting & 1 == 1
        if isWaiting & 2 == 2 { sample.noteSent(isData: true, bytes: 96, now: now) }
        if isWaiting & 4 == 4 { sample.noteReceived(isData: true, bytes: 96, now: now) }
        var actions: [DeviceAction] = []
        if ofGateway {
            gateway.handshakeWanted(gatewayPeer, sample: sample, at: moment, actions: &actions)
            gateway.trafficChanged(gatewayPeer, sample: sample, at: moment, actions: &actions)
        } else {
            laptop.handshakeWanted(laptopPeer, sample: sample, at: moment, actions: &actions)
            laptop.trafficChanged(laptopPeer, sample: sample, at: moment, actions: &actions)
        }
        take(actions, fromLaptop: !ofGateway)
    }

    /// The peer of a session uses it: one that there is, or any.
    private mutating func confirm(_ ofGateway: Bool, _ bytes: inout ArraySlice<UInt8>) {
        let sent = ofGateway ? fromGateway : fromLaptop
        var index = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(sent.count > 7 ? sent[7 - $1] : 0) }
        index ^= UInt32(bytes.popFirst() ?? 0) & 1
        var actions: [DeviceAction] = []
        if ofGateway {
            gateway.confirmed(
                gatewayPeer,
                localIndex: index,
                sample: TrafficSample(),
                at: moment,
                actions: &actions
            )
        } else {
            laptop.confirmed(
                laptopPeer,
                localIndex: index,
                sample: TrafficSample(),
                at: moment,
                actions: &actions
            )
        }
        take(actions, fromLaptop: !ofGateway)
    }

    private mutating func change(_ ofGateway: Bool, _ what: UInt8) {
        var actions: [DeviceAction] = []
        let elsewhere = Endpoint(.v4(IPv4Address(203, 0, 113, what)), port: 5)
        switch what & 3 {
        case 0: gateway.roamed(gatewayPeer, to: elsewhere, at: moment, actions: &actions)
        case 1: laptop.report(what & 4 == 0 ? .refused : .unreachable, about: laptopPeer)
        case 2:
            laptop.networkChanged(
                what & 4 == 0 ? .moved : what & 8 == 0 ? .lost : .elsewhere,
                at: moment,
                samples: { _ in TrafficSample() },
                actions: &actions
            )
        default:
            gateway.setEndpoint(laptopAddress, isConfigured: false, of: gatewayPeer, at: moment, actions: &actions)
        }
        take(actions, fromLaptop: what & 3 == 2)
    }

    private func raw(_ bytes: inout ArraySlice<UInt8>) -> [UInt8] {
        let kinds = [0, 32, 64, 92, 148, 149]
        let wanted = bytes.popFirst() ?? 0
        let length = wanted < 6 ? kinds[Int(wanted)] : Int(wanted)
        var datagram = Array(bytes.prefix(length))
        bytes = bytes.dropFirst(length)
        datagram += [UInt8](repeating: 0, count: length - datagram.count)
        return datagram
    }

    /// A message with one byte changed, or as it was.
    private func changed(_ message: [UInt8], _ bytes: inout ArraySlice<UInt8>) -> [UInt8] {
        let (place, mask) = (Int(bytes.popFirst() ?? 0), bytes.popFirst() ?? 0)
        var message = message
        if place < message.count { message[place] ^= mask }
        return message
    }

    /// The datagram with the right mac1 for its receiver, so that it gets beyond the first check.
    private func signed(_ datagram: [UInt8], _ forGateway: Bool) -> [UInt8] {
        guard datagram.count >= 32 else { return datagram }
        let publicKey = forGateway ? gateway.publicKey.bytes : laptop.publicKey.bytes
        let label = Array("mac1----".utf8)
        let key = unsafe LibraryCryptography.hash(label.span.bytes, publicKey.span.bytes)
        let message = Array(datagram.dropLast(32))
        let mac = unsafe LibraryCryptography.mac(message.span.bytes, key: key.span.bytes)
        return message + mac + datagram.suffix(16)
    }
}
