import ControlAPI
import LinuxSystem
import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

@testable import WireGuardProvider

/// What one provider was changed to, given to the next.
struct SessionChangesTests {
    private let own: SecretKey
    private let keys: [PublicKey]
    private let endpoint = Endpoint(.v4(.init(0xc000_0207)), port: 7)

    init() throws {
        own = Self.newKey()
        keys = try (0..<3).map { _ in try Self.newPeer() }
    }

    @Test func `a device as it was configured has no changes`() throws {
        let (device, plan) = try configured()
        #expect(device.driver.changes(since: plan).isEmpty)
    }

    @Test func `every kind of change comes over to a new device`() throws {
        let (device, plan) = try configured()
        let shared = Self.newKey()
        var change = DeviceChange()
        change.privateKey = .set(Self.newKey())
        var first = DeviceChange.Peer(publicKey: keys[0])
        first.presharedKey = .set(shared)
        first.endpoint = endpoint
        first.persistentKeepalive = 25
        first.allowedIPs = [.init(try prefix("10.9.0.0/16")), .init(try prefix("10.1.0.0/16"))]
        var second = DeviceChange.Peer(publicKey: keys[2])
        second.allowedIPs = [.init(try prefix("fd00:7::/64"))]
        change.peers = [first, second]
        try device.driver.apply(change)

        let copy = try restored(plan, device.driver.changes(since: plan))
        #expect(copy.publicKey == device.publicKey)
        #expect(try summary(copy) == summary(device))
        #expect(try copy.peer(keys[0]).presharedKey?.isEqual(to: shared) == true)
        #expect(try allowed(copy, keys[0]) == ["10.0.0.0/8", "10.1.0.0/16", "10.9.0.0/16"])
        #expect(try allowed(copy, keys[1]) == [])
        // What the copy would hand on is the same again.
        #expect(try summary(restored(plan, copy.driver.changes(since: plan))) == summary(device))
    }

    @Test func `a pre-shared key and a keepalive that were taken away stay away`() throws {
        let (device, plan) = try configured()
        var change = DeviceChange()
        var peer = DeviceChange.Peer(publicKey: keys[1])
        peer.presharedKey = .remove
        peer.persistentKeepalive = 0
        change.peers = [peer]
        try device.driver.apply(change)
        let copy = try restored(plan, device.driver.changes(since: plan))
        #expect(try copy.peer(keys[1]).presharedKey == nil)
        #expect(try copy.peer(keys[1]).persistentKeepaliveSeconds == 0)
    }

    @Test func `a peer that was removed, and one that came back without its endpoint, are as they were left`() throws {
        let (device, plan) = try configured()
        var change = DeviceChange()
        var gone = DeviceChange.Peer(publicKey: keys[1])
        gone.remove = true
        var away = DeviceChange.Peer(publicKey: keys[0])
        away.remove = true
        var back = DeviceChange.Peer(publicKey: keys[0])
        back.allowedIPs = [.init(try prefix("10.0.0.0/8"))]
        change.peers = [gone, away, back]
        try device.driver.apply(change)
        let copy = try restored(plan, device.driver.changes(since: plan))
        #expect(copy.driver.peers.count == 1)
        #expect(try copy.peer(keys[0]).search == nil)
        #expect(try summary(copy) == summary(device))
    }

    @Test func `an endpoint that was set is called where it was heard last`() throws {
        let (device, plan) = try configured()
        var change = DeviceChange()
        var peer = DeviceChange.Peer(publicKey: keys[0])
        peer.endpoint = endpoint
        change.peers = [peer]
        try device.driver.apply(change)
        let heard = Endpoint(.v4(.init(0xc000_0263)), port: 99)
        for hint in [endpoint, heard] {
            let copy = try restored(plan, device.driver.changes(since: plan), hint: hint)
            #expect(try copy.peer(keys[0]).search?.origin == .address(endpoint))
            #expect(try copy.peer(keys[0]).search?.current == hint)
        }
    }

    @Test func `more sections than an operation of wg may have are no hindrance`() throws {
        var change = DeviceChange()
        for _ in 0..<DeviceOperation.maximumPeers + 1 {
            var section = DeviceChange.Peer(publicKey: keys[0])
            section.remove = true
            change.peers.append(section)
        }
        #expect(try SessionChanges.open(SessionChanges.seal(change)).peers.count == DeviceOperation.maximumPeers + 1)
    }

    @Test func `what is no change is refused`() throws {
        for text in ["", "get=1\n", "set=1\nnonsense\n", "set=1\npublic_key=zz\n"] {
            let bytes = Array(text.utf8)
            let file = SharedDescriptor(
                try unsafe MemoryFile.make(name: "test", count: bytes.count) { room in
                    unsafe bytes.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
                }
            )
            #expect(throws: OperationError.self) { try SessionChanges.open(file) }
        }
    }

    // MARK: Helpers

    /// A device with two peers: one with a name, one with a pre-shared key that calls us.
    private func configured(hint: Endpoint? = nil) throws -> (TestDevice, DevicePlan) {
        let plan = try DevicePlan(
            [
                "privateKeyReference": "own",
                "peers": [
                    [
                        "publicKey": .string(keys[0].description), "endpoint": "192.0.2.1:7",
                        "allowedIPs": ["10.0.0.0/8"],
                    ],
                    [
                        "publicKey": .string(keys[1].description), "presharedKeyReference": "psk",
                        "allowedIPs": ["10.1.0.0/16"], "persistentKeepalive": 15,
                    ],
                ],
            ],
            secrets: DeviceSecrets(bundle: try bundle()),
            hints: hint.map { [keys[0]: $0] } ?? [:]
        )
        let device = try TestDevice(privateKey: own)
        try device.driver.addPeers(of: plan)
        return (device, plan)
    }

    private func restored(_ plan: DevicePlan, _ change: DeviceChange, hint: Endpoint? = nil) throws -> TestDevice {
        let (device, _) = try configured(hint: hint)
        let carried = try SessionChanges.open(SessionChanges.seal(change))
        try device.driver.apply(carried, hints: hint.map { [keys[0]: $0] } ?? [:])
        return device
    }

    /// By peer: endpoint, allowed IPs and keepalive.
    private func summary(_ device: TestDevice) throws -> [String: [String]] {
        var summary: [String: [String]] = [:]
        for peer in device.driver.peers.values {
            summary[peer.publicKey.description] =
                try ["\(peer.search?.current.map { "\($0)" } ?? "none")", "\(peer.persistentKeepaliveSeconds)"]
                + allowed(device, peer.publicKey)
        }
        return summary
    }

    private func allowed(_ device: TestDevice, _ key: PublicKey) throws -> [String] {
        device.driver.allowedIPs.prefixes(of: try device.peer(key).identifier).map(\.description)
    }

    private func prefix(_ text: String) throws -> IPPrefix { try #require(IPPrefix(text)) }

    private func bundle() throws -> SharedDescriptor {
        let secrets = [
            ("own", unsafe own.bytes.withUnsafeBytes { unsafe Array($0) }), ("psk", [UInt8](repeating: 5, count: 32)),
        ]
        let size = SecretBundle.byteCount(secrets.map { (label: $0.0, count: $0.1.count) })
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: "secrets", count: size) { buffer in
                var writer = unsafe SecretBundle.Writer(into: buffer)
                for (label, secret) in secrets {
                    _ = unsafe secret.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
                }
            }
        )
    }

    private static func newKey() -> SecretKey {
        var random = SecureRandom()
        return SecretKey(random: &random)
    }

    private static func newPeer() throws -> PublicKey {
        try #require(PublicKey(LibraryCryptography.publicKey(of: newKey().bytes)))
    }
}
