import ControlAPI
import LinuxSystem
import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

@testable import WireGuardProvider

/// Configurations, their keys, and what is different between two of them.
struct DevicePlanTests {
    private let secrets: TestSecrets

    init() throws { secrets = try TestSecrets() }

    @Test func `a configuration gives its peers and its network settings`() throws {
        let key = try secrets.newPeer("a")
        let plan = try plan(
            [
                "privateKeyReference": "own", "addresses": ["10.0.0.1/24", "fd00::1/64"], "mtu": 1380, "table": "off",
                "dns": ["servers": ["10.0.0.53"], "searchDomains": ["corp.example"]],
                "peers": [
                    [
                        "publicKey": .string(key.description), "presharedKeyReference": "psk",
                        "endpoint": "vpn.example:51820", "allowedIPs": ["10.1.2.3/16", "fd01::/64"],
                        "persistentKeepalive": 25,
                    ]
                ],
            ]
        )
        let peer = try #require(plan.peers.first)
        #expect(peer.publicKey == key)
        #expect(peer.presharedKey != nil)
        #expect(peer.origin == .name("vpn.example", port: 51820))
        #expect(peer.allowedIPs.map(\.description) == ["10.1.0.0/16", "fd01::/64"])
        #expect(peer.persistentKeepaliveSeconds == 25)
        let settings = NetworkSettingsDocument(plan.configuration)
        #expect(settings.addresses == ["10.0.0.1/24", "fd00::1/64"])
        #expect(settings.routes == ["10.1.0.0/16", "fd01::/64"])
        #expect(settings.table == "off")
        #expect(settings.mtu == 1380)
        #expect(settings.endpoints == [])
        #expect(settings.dns?.servers == ["10.0.0.53"])
        #expect(settings.dns?.applied == false)
    }

    @Test func `a route of several peers' networks stands once and numeric endpoints are told`() throws {
        let configuration = try plan(
            document([
                (try secrets.newPeer("a"), "192.0.2.1:7", ["10.0.0.0/8"]),
                (try secrets.newPeer("b"), "[fd00::2]:8", ["10.0.0.1/32"]),
            ])
        ).configuration
        let settings = NetworkSettingsDocument(configuration)
        #expect(settings.routes == ["10.0.0.0/8", "10.0.0.1/32"])
        #expect(settings.endpoints == ["192.0.2.1:7", "[fd00::2]:8"])
        #expect(settings.table == "auto")
        #expect(settings.dns == nil)
    }

    @Test func `faults of a configuration are told with their fields`() {
        let error = #expect(throws: ControlError.self) {
            try plan(["privateKeyReference": "own", "peers": [["publicKey": "x"]]])
        }
        #expect(error?.name == .configurationInvalid)
        #expect(error?.field == "provider.configuration.peers[0].publicKey")
    }

    @Test func `a key that did not come is told by its reference and never guessed`() throws {
        let key = try secrets.newPeer("a")
        for (document, field): (JSONValue, String) in [
            (["privateKeyReference": "lost"], "privateKeyReference"),
            (
                [
                    "privateKeyReference": "own",
                    "peers": [["publicKey": .string(key.description), "presharedKeyReference": "lost"]],
                ], "peers[0].presharedKeyReference"
            ),
        ] {
            let error = #expect(throws: ControlError.self) { try plan(document) }
            #expect(error?.name == .secretUnavailable)
            #expect(error?.field == field)
            #expect(error?.reason == "No key of 32 bytes came for the reference lost.")
        }
    }

    @Test func `keys of another length and what is no bundle are refused`() throws {
        let short = try TestSecrets.bundle(["own": [1, 2, 3]])
        #expect(throws: ControlError.self) { try DeviceSecrets(bundle: short).key("own", field: "x") }
        let junk = SharedDescriptor(
            try unsafe MemoryFile.make(name: "junk", count: 9) { unsafe $0.copyBytes(from: [1, 2, 3]) }
        )
        let error = #expect(throws: ControlError.self) { try DeviceSecrets(bundle: junk) }
        #expect(error?.name == .secretUnavailable)
        #expect(error?.reason == "The secrets that came with the configuration are cut.")
    }

    @Test func `our own public key and one of small order are found before anything is done`() throws {
        let own = try plan(document([(secrets.publicKey, nil, [])]))
        let zeros = try #require(PublicKey([1] + [UInt8](repeating: 0, count: 31)))
        let weak = try plan(document([(try secrets.newPeer("a"), nil, []), (zeros, nil, [])]))
        for (plan, field) in [(own, "peers[0].publicKey"), (weak, "peers[1].publicKey")] {
            let error = #expect(throws: ControlError.self) { try plan.check() }
            #expect(error?.field == "provider.configuration.\(field)")
        }
    }

    @Test func `what a change doesn't touch goes on untouched`() throws {
        let (device, keys) = try running()
        let old = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]))
        let new = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.2.0.0/16"])]))
        let identifiers = device.driver.core.peerIdentifiers
        device.outside.commands = []
        try device.driver.apply(new, inPlaceOf: old)
        #expect(device.driver.core.peerIdentifiers == identifiers)
        #expect(device.outside.commands.allSatisfy { if case .setAllowedIPs = $0 { true } else { false } })
        #expect(try allowed(device, keys[0]) == ["10.0.0.0/8"])
        #expect(try allowed(device, keys[1]) == ["10.2.0.0/16"])
    }

    @Test func `many peers come with one table`() throws {
        let device = try TestDevice(privateKey: secrets.own)
        let peers = try (0..<200).map { number in
            (try secrets.newPeer("\(number)"), nil as String?, ["10.0.\(number).0/24", "fd00:\(number)::/64"])
        }
        try device.driver.addPeers(of: try plan(document(peers)))
        #expect(device.outside.commands.count { if case .addPeer = $0 { true } else { false } } == 200)
        #expect(device.outside.commands.count { if case .setAllowedIPs = $0 { true } else { false } } == 1)
        #expect(device.state().peers.map(\.allowedIPs.count) == Array(repeating: 2, count: 200))
        device.outside.commands = []
        try device.driver.apply(try plan(document([])), inPlaceOf: try plan(document(peers)))
        #expect(device.outside.commands.count { if case .removePeer = $0 { true } else { false } } == 200)
        #expect(device.outside.commands.count { if case .setAllowedIPs = $0 { true } else { false } } == 1)
        #expect(device.state().peers.isEmpty)
    }

    @Test func `the same configuration again does nothing at all`() throws {
        let (device, keys) = try running()
        let same = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]))
        device.outside.commands = []
        try device.driver.apply(same, inPlaceOf: same)
        #expect(device.outside.commands.isEmpty)
    }

    @Test func `peers come, go and get another endpoint, and what wg set changed stays`() throws {
        let (device, keys) = try running()
        let old = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]))
        let live = try secrets.newPeer("live")
        try device.driver.addPeer(DevicePeerSettings(publicKey: live))
        device.driver.setPersistentKeepalive(25, of: try device.peer(keys[0]))
        let added = try secrets.newPeer("c")
        let new = try plan(
            document([(keys[0], "192.0.2.9:7", ["10.0.0.0/8"]), (added, "192.0.2.3:7", ["10.3.0.0/16"])])
        )
        device.outside.commands = []
        try device.driver.apply(new, inPlaceOf: old)
        device.pass(.seconds(6))
        let peers = Set(device.driver.peers.values.map(\.publicKey))
        #expect(peers == [keys[0], added, live])
        #expect(try device.peer(keys[0]).persistentKeepaliveSeconds == 25)
        #expect(
            Set(device.outside.takeSent().map(\.destination))
                == Set(["192.0.2.9:7", "192.0.2.3:7"].compactMap { Endpoint($0) })
        )
    }

    @Test func `another private key ends the sessions and is used from then on`() throws {
        let (device, keys) = try running()
        let old = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]))
        let other = try TestSecrets()
        let new = try DevicePlan(
            document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]),
            secrets: DeviceSecrets(bundle: try other.bundle())
        )
        try device.driver.apply(new, inPlaceOf: old)
        #expect(device.publicKey == other.publicKey)
    }

    // MARK: Helpers

    private func running() throws -> (TestDevice, [PublicKey]) {
        let device = try TestDevice(privateKey: secrets.own)
        let keys = [try secrets.newPeer("a"), try secrets.newPeer("b")]
        let plan = try plan(document([(keys[0], "192.0.2.1:7", ["10.0.0.0/8"]), (keys[1], nil, ["10.1.0.0/16"])]))
        try device.driver.addPeers(of: plan)
        device.driver.start()
        return (device, keys)
    }

    private func plan(_ document: JSONValue) throws -> DevicePlan {
        try DevicePlan(document, secrets: DeviceSecrets(bundle: try secrets.bundle()))
    }

    private func document(_ peers: [(PublicKey, endpoint: String?, allowed: [String])]) -> JSONValue {
        let sections = peers.map { key, endpoint, allowed in
            var section: [String: JSONValue] = [
                "publicKey": .string(key.description), "allowedIPs": .array(allowed.map { .string($0) }),
            ]
            section["endpoint"] = endpoint.map { .string($0) }
            return JSONValue.object(section)
        }
        return ["privateKeyReference": "own", "peers": .array(sections)]
    }

    private func allowed(_ device: TestDevice, _ key: PublicKey) throws -> [String] {
        device.driver.allowedIPs.prefixes(of: try device.peer(key).identifier).map(\.description)
    }
}

/// A private key and a pre-shared key, under the references "own" and "psk".
private struct TestSecrets {
    let own: SecretKey
    let publicKey: PublicKey

    init() throws {
        var random = SecureRandom()
        let key = SecretKey(random: &random)
        publicKey = try #require(PublicKey(LibraryCryptography.publicKey(of: key.bytes)))
        own = key
    }

    func bundle() throws -> SharedDescriptor {
        try Self.bundle([
            "own": unsafe own.bytes.withUnsafeBytes { unsafe Array($0) }, "psk": [UInt8](repeating: 5, count: 32),
        ])
    }

    static func bundle(_ secrets: [String: [UInt8]]) throws -> SharedDescriptor {
        let entries = secrets.sorted { $0.key < $1.key }
        let size = SecretBundle.byteCount(entries.map { (label: $0.key, count: $0.value.count) })
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: "secrets", count: size) { buffer in
                var writer = unsafe SecretBundle.Writer(into: buffer)
                for (label, secret) in entries {
                    _ = unsafe secret.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
                }
            }
        )
    }

    /// A peer's public key; the name is for the reader.
    func newPeer(_ name: String) throws -> PublicKey {
        var random = SecureRandom()
        return try #require(PublicKey(LibraryCryptography.publicKey(of: SecretKey(random: &random).bytes)))
    }
}
