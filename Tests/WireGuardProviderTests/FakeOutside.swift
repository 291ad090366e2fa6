import ControlAPI
import LinuxSystem
import NetworkTypes
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

@testable import WireGuardProvider

/// Records what a driver asks for; the clock stands until a test moves it.
final class FakeOutside: DeviceOutside {
    var now = Instant.zero + .seconds(1000)
    /// Seconds that the wall clock was set on.
    var wallShift: Int64 = 0
    var commands: [LoopCommand] = []
    var armed: Instant?
    var lookUps: [String] = []
    var lookUpPeers: [PeerIdentifier] = []
    var changes = 0
    var events: [DeviceEvent] = []
    /// Their numbers by their names.
    var interfaces: [String: UInt32] = [:]

    /// 2026-01-01T00:00:00Z at the instant 0.
    static let wallSeconds: Int64 = 1_767_225_600

    func moment() -> Moment {
        let wall = Self.wallSeconds + wallShift + Int64(now.nanoseconds / 1_000_000_000)
        let label = WireGuardCore.Timestamp(
            wallSeconds: wall,
            nanoseconds: UInt32(now.nanoseconds % 1_000_000_000)
        )
        return Moment(now: now, wallClock: label)
    }

    var clock: WallClock {
        WallClock(
            now: now,
            wall: .init(
                seconds: Self.wallSeconds + wallShift + Int64(now.nanoseconds / 1_000_000_000),
                nanoseconds: 0
            )
        )
    }

    func post(_ commands: [LoopCommand]) { self.commands += commands }
    func arm(_ deadline: Instant?) { armed = deadline }
    func lookUp(_ name: String, for peer: PeerIdentifier) {
        lookUps.append(name)
        lookUpPeers.append(peer)
    }
    func interfaceIndex(_ zone: String) -> UInt32? {
        interfaces[zone] ?? interfaces.values.first { String($0) == zone }
    }
    func interfaceName(_ index: UInt32) -> String? { interfaces.first { $0.value == index }?.key }
    func changed() { changes += 1 }
    func log(_ event: DeviceEvent) { events.append(event) }

    /// The datagrams posted since the last call, and where they go.
    func takeSent() -> [(datagram: [UInt8], destination: Endpoint)] {
        defer { commands = [] }
        return commands.compactMap {
            if case .send(let datagram, let destination) = $0 { (datagram, destination) } else { nil }
        }
    }
}

/// A device under test: its driver, its world and its key.
struct TestDevice {
    let outside = FakeOutside()
    let driver: DeviceDriver
    let privateKey: SecretKey

    init(privateKey: SecretKey? = nil, lastTimestamp: WireGuardCore.Timestamp? = nil) throws {
        var random = SecureRandom()
        let privateKey = privateKey ?? SecretKey(random: &random)
        self.privateKey = privateKey
        guard let core = LibraryDeviceCore(privateKey: privateKey, random: random, lastTimestamp: lastTimestamp) else {
            throw TestFailure.noCore
        }
        driver = DeviceDriver(core, outside: outside)
    }

    enum TestFailure: Error { case noCore, noPeer }

    var publicKey: PublicKey { driver.core.publicKey }

    func state() -> ProviderState {
        var state = ProviderState(phase: .ready, status: .connecting, stage: .providerStarted)
        driver.fill(&state, clock: outside.clock)
        return state
    }

    func peer(_ key: PublicKey) throws -> DevicePeer {
        guard let peer = driver.peer(key) else { throw TestFailure.noPeer }
        return peer
    }

    /// Lets time pass, and the timer fire where it was armed.
    func pass(_ interval: Interval) {
        let end = outside.now + interval
        while let armed = outside.armed, armed <= end {
            outside.now = max(armed, outside.now)
            driver.expire()
        }
        outside.now = end
    }
}

/// The other end: a bare core that answers what it is sent.
final class TestPeer {
    private var core: LibraryDeviceCore
    let endpoint: Endpoint
    let publicKey: PublicKey

    init(_ endpoint: Endpoint, knows publicKey: PublicKey, presharedKey: SecretKey = .zero, at moment: Moment) throws {
        var random = SecureRandom()
        guard let core = LibraryDeviceCore(privateKey: SecretKey(random: &random), random: random) else {
            throw TestDevice.TestFailure.noCore
        }
        self.core = core
        self.endpoint = endpoint
        self.publicKey = self.core.publicKey
        var actions: [DeviceAction] = []
        self.core.start(at: moment, actions: &actions)
        var settings = PeerSettings(publicKey: publicKey)
        settings.presharedKey = presharedKey
        _ = try self.core.addPeer(settings, at: moment, actions: &actions)
    }

    /// What it answers to a datagram from an address.
    func answers(to datagram: [UInt8], from source: Endpoint, at moment: Moment) -> [[UInt8]] {
        var actions: [DeviceAction] = []
        core.receive(datagram, from: source, at: moment, actions: &actions)
        return actions.compactMap { if case .send(let datagram, _, _) = $0 { datagram } else { nil } }
    }
}
