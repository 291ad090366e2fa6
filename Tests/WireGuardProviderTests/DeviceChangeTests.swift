import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardCore

@testable import WireGuardProvider

/// What `wg set`, `setconf` and `syncconf` do to a device.
struct DeviceChangeTests {
    private let mark: UInt32 = 0x0800_0000

    @Test func `a peer is added, changed and removed`() throws {
        let device = try TestDevice()
        let key = try newKey()
        try apply(
            device,
            peer: key,
            "endpoint=192.0.2.1:7",
            "allowed_ip=10.0.0.0/8",
            "persistent_keepalive_interval=25"
        )
        var shown = try #require(device.report().peers.first)
        #expect(shown.endpoint == Endpoint("192.0.2.1:7"))
        #expect(shown.allowedIPs.map(\.description) == ["10.0.0.0/8"])
        #expect(shown.persistentKeepalive == 25)
        #expect(shown.presharedKey == nil)
        let secret = String(repeating: "05", count: 32)
        try apply(device, peer: key, "preshared_key=\(secret)", "allowed_ip=fd00::/8", "endpoint=192.0.2.2:7")
        shown = try #require(device.report().peers.first)
        #expect(shown.endpoint == Endpoint("192.0.2.2:7"))
        #expect(shown.allowedIPs.map(\.description) == ["10.0.0.0/8", "fd00::/8"])
        #expect(shown.presharedKey != nil)
        let identifier = try device.peer(key).identifier
        device.outside.commands = []
        try apply(device, peer: key, "remove=true")
        #expect(device.report().peers.isEmpty)
        #expect(device.outside.commands.contains { if case .removePeer(identifier) = $0 { true } else { false } })
    }

    @Test func `an allowed IP goes to the peer that names it last`() throws {
        let device = try TestDevice()
        let (first, second) = (try newKey(), try newKey())
        try apply(device, peer: first, "allowed_ip=10.0.0.0/8", "allowed_ip=10.1.0.0/16")
        try apply(device, peer: second, "allowed_ip=10.0.0.0/8")
        #expect(try allowed(device, first) == ["10.1.0.0/16"])
        #expect(try allowed(device, second) == ["10.0.0.0/8"])
    }

    @Test func `allowed IPs are replaced, or taken away one by one`() throws {
        let device = try TestDevice()
        let key = try newKey()
        try apply(device, peer: key, "allowed_ip=10.0.0.0/8", "allowed_ip=10.1.0.0/16")
        try apply(device, peer: key, "allowed_ip=-10.0.0.0/8", "allowed_ip=-10.9.0.0/16")
        #expect(try allowed(device, key) == ["10.1.0.0/16"])
        try apply(device, peer: key, "replace_allowed_ips=true", "allowed_ip=10.2.0.0/16")
        #expect(try allowed(device, key) == ["10.2.0.0/16"])
        try apply(device, peer: key, "replace_allowed_ips=true")
        #expect(try allowed(device, key) == [])
    }

    @Test func `the peers are replaced as a whole`() throws {
        let device = try TestDevice()
        let (old, kept) = (try newKey(), try newKey())
        try apply(device, peer: old, "allowed_ip=10.0.0.0/8")
        try apply(device, peer: kept, "allowed_ip=10.1.0.0/16", "preshared_key=\(String(repeating: "05", count: 32))")
        try apply(device, "replace_peers=true\npublic_key=\(hexadecimal(kept.bytes))\nallowed_ip=10.2.0.0/16\n")
        #expect(device.report().peers.map(\.publicKey) == [kept])
        #expect(device.report().peers[0].presharedKey == nil)
        #expect(try allowed(device, kept) == ["10.2.0.0/16"])
    }

    @Test func `update only and remove add nobody`() throws {
        let device = try TestDevice()
        try apply(device, peer: try newKey(), "update_only=true", "allowed_ip=10.0.0.0/8")
        try apply(device, peer: try newKey(), "remove=true")
        #expect(device.report().peers.isEmpty)
    }

    @Test func `our own key is no peer's, also where it becomes ours later`() throws {
        let device = try TestDevice()
        try apply(device, peer: device.publicKey, "allowed_ip=10.0.0.0/8")
        #expect(device.report().peers.isEmpty)
        var random = SecureRandom()
        let secret = SecretKey(random: &random)
        let key = try #require(PublicKey(LibraryCryptography.publicKey(of: secret.bytes)))
        try apply(device, peer: key, "allowed_ip=10.0.0.0/8")
        #expect(device.report().peers.count == 1)
        try apply(device, "private_key=\(unsafe secret.bytes.withUnsafeBytes { unsafe hexadecimal(Array($0)) })\n")
        #expect(device.publicKey == key)
        #expect(device.report().peers.isEmpty)
    }

    @Test func `what can't be applied changes nothing`() throws {
        let device = try TestDevice()
        let key = try newKey()
        try apply(device, peer: key, "allowed_ip=10.0.0.0/8")
        let zeros = String(repeating: "0", count: 64)
        // Of small order, like zero: no secret can be agreed upon.
        let weak = "public_key=\(zeros)\n"
        let cases: [(String, OperationError)] = [
            ("private_key=\(zeros)\n", .notSupported), ("fwmark=1\n", .notSupported),
            ("replace_peers=true\n" + weak, .invalid), ("replace_peers=true\nprivate_key=\(zeros)\n", .notSupported),
        ]
        for (text, expected) in cases {
            #expect(throws: expected) { try apply(device, text) }
            #expect(device.report().peers.map(\.publicKey) == [key])
        }
        try apply(device, "fwmark=\(mark)\n")
        // `wg set fwmark 0` would change it; `setconf` and `syncconf` say 0 for a file that doesn't speak of it.
        #expect(throws: OperationError.notSupported) { try apply(device, "fwmark=0\n") }
        let own = unsafe device.privateKey.bytes.withUnsafeBytes { unsafe hexadecimal(Array($0)) }
        try apply(device, "private_key=\(own)\nfwmark=0\n")
        #expect(throws: OperationError.notSupported) { try apply(device, "private_key=\(own)\nfwmark=1\n") }
    }

    @Test func `the limits count what there is already`() throws {
        let device = try TestDevice()
        let key = try newKey()
        let most = (0..<DeviceOperation.maximumAllowedIPs).map { "allowed_ip=\(IPv4Address(UInt32($0)))/32" }
        try apply(device, peer: key, most.joined(separator: "\n"))
        #expect(throws: OperationError.tooLarge) { try apply(device, peer: key, "allowed_ip=10.0.0.0/8") }
    }

    @Test func `a peer of wg set is called when it has an endpoint, and only then`() throws {
        let device = try TestDevice()
        device.driver.start()
        try apply(device, peer: try newKey(), "allowed_ip=10.0.0.0/8")
        #expect(device.outside.takeSent().isEmpty)
        try apply(device, peer: try newKey(), "endpoint=192.0.2.1:7")
        #expect(device.outside.takeSent().map(\.destination) == [Endpoint("192.0.2.1:7")])
    }

    // MARK: Helpers

    private func apply(_ device: TestDevice, peer: PublicKey, _ lines: String...) throws {
        try apply(device, "public_key=\(hexadecimal(peer.bytes))\n" + lines.map { $0 + "\n" }.joined())
    }

    private func apply(_ device: TestDevice, _ text: String) throws {
        let bytes = Array("set=1\n\(text)".utf8)
        guard case .set(let change) = try unsafe DeviceOperation(parsing: bytes.span.bytes, zone: { _ in nil }) else {
            return
        }
        try device.driver.check(change, mark: mark)
        try device.driver.apply(change)
    }

    private func allowed(_ device: TestDevice, _ key: PublicKey) throws -> [String] {
        device.driver.allowedIPs.prefixes(of: try device.peer(key).identifier).map(\.description)
    }

    private func newKey() throws -> PublicKey {
        var random = SecureRandom()
        return try #require(PublicKey(LibraryCryptography.publicKey(of: SecretKey(random: &random).bytes)))
    }
}

extension TestDevice {
    func report() -> DeviceReport { driver.report(listenPort: 1, mark: 0, clock: outside.clock) }
}
