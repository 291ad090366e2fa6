import NetworkTypes
import Testing
import WireGuardCore
import WireGuardProvider

struct DeviceOperationTests {
    private static let key = String(repeating: "0a", count: 31) + "ff"
    private static let zeros = String(repeating: "0", count: 64)

    @Test func `get is read`() throws {
        guard case .get = try operation("get=1\n") else {
            Issue.record("not a get")
            return
        }
    }

    @Test func `a set of the device and two peers is read in the order of its lines`() throws {
        let change = try set(
            """
            private_key=\(Self.key)
            listen_port=51820
            fwmark=0
            replace_peers=true
            public_key=\(Self.key)
            preshared_key=\(Self.zeros)
            endpoint=192.0.2.1:4500
            persistent_keepalive_interval=25
            replace_allowed_ips=true
            allowed_ip=10.1.2.3/24
            allowed_ip=fd00::/64
            allowed_ip=-10.0.0.0/8
            protocol_version=1
            public_key=\(Self.key.replacing("0a", with: "0B"))
            remove=true
            update_only=true

            """
        )
        guard case .set(let key) = change.privateKey else {
            Issue.record("no private key")
            return
        }
        #expect(unsafe key.bytes.withUnsafeBytes { unsafe Array($0) } == [UInt8](repeating: 10, count: 31) + [255])
        #expect(change.listenPort == 51820)
        #expect(change.replacePeers)
        #expect(change.peers.map(\.publicKey.bytes) == [10, 11].map { [UInt8](repeating: $0, count: 31) + [255] })
        let first = change.peers[0]
        guard case .remove = first.presharedKey else {
            Issue.record("the pre-shared key stays")
            return
        }
        #expect(first.endpoint == Endpoint("192.0.2.1:4500"))
        #expect(first.persistentKeepalive == 25)
        #expect(first.replaceAllowedIPs)
        #expect(
            first.allowedIPs.map { "\($0.isRemoval ? "-" : "")\($0.prefix)" } == [
                "10.1.2.0/24", "fd00::/64", "-10.0.0.0/8",
            ]
        )
        #expect(!first.remove && !first.updateOnly)
        #expect(change.peers[1].remove && change.peers[1].updateOnly)
    }

    @Test func `a mark is read whole`() throws {
        #expect(try set("fwmark=4294967295\n").mark == 4_294_967_295)
    }

    @Test func `the zone of a link-local endpoint is an interface's name or index`() throws {
        let text = "public_key=\(Self.key)\nendpoint=[fe80::1%"
        #expect(try set(text + "eth0]:9\n").peers[0].endpoint == Endpoint("[fe80::1%7]:9"))
        #expect(try set(text + "3]:9\n").peers[0].endpoint == Endpoint("[fe80::1%3]:9"))
        #expect(throws: OperationError.invalid) { try set(text + "eth1]:9\n") }
    }

    @Test(arguments: [
        ("", OperationError.malformed), ("get\n", .malformed), ("get=2\n", .malformed), ("get=1\nx=y\n", .malformed),
        ("put=1\n", .malformed), ("set=1\nlisten_port\n", .malformed), ("=\n", .malformed),
        ("set=1\n\u{0}\n", .malformed),
        ("set=1\nlisten_port=65536\n", .invalid), ("set=1\nlisten_port=-1\n", .invalid),
        ("set=1\nlisten_port=+1\n", .invalid), ("set=1\nlisten_port=\n", .invalid), ("set=1\nfwmark=x\n", .invalid),
        ("set=1\nfwmark=4294967296\n", .invalid),
        ("set=1\nreplace_peers=false\n", .invalid), ("set=1\nprivate_key=00\n", .invalid),
        ("set=1\nprivate_key=\(key)0\n", .invalid), ("set=1\nprivate_key=\(key.replacing("f", with: "g"))\n", .invalid),
        ("set=1\nunknown=1\n", .invalid), ("set=1\nset=1\n", .invalid), ("set=1\nendpoint=1.2.3.4:5\n", .invalid),
        ("set=1\nallowed_ip=10.0.0.0/8\n", .invalid), ("set=1\npublic_key=\(key)\nprivate_key=\(key)\n", .invalid),
        ("set=1\npublic_key=\(key)\nendpoint=example.com:1\n", .invalid),
        ("set=1\npublic_key=\(key)\nendpoint=1.2.3.4:65536\n", .invalid),
        ("set=1\npublic_key=\(key)\nallowed_ip=10.0.0.0/33\n", .invalid),
        ("set=1\npublic_key=\(key)\nallowed_ip=--10.0.0.0/8\n", .invalid),
        ("set=1\npublic_key=\(key)\npersistent_keepalive_interval=65536\n", .invalid),
        ("set=1\npublic_key=\(key)\nprotocol_version=2\n", .invalid),
        ("set=1\npublic_key=\(key)\nremove=1\n", .invalid),
        ("set=1\nendpoint=\(String(repeating: "x", count: 300))\n", .malformed),
    ])
    func `a fault is told by its class`(text: String, expected: OperationError) {
        #expect(throws: expected) { try operation(text) }
    }

    @Test func `more peers or allowed IPs than the limits are refused`() throws {
        let peer = "public_key=\(Self.key)\n"
        let most = String(repeating: peer, count: DeviceOperation.maximumPeers)
        #expect(try set(most).peers.count == DeviceOperation.maximumPeers)
        #expect(throws: OperationError.tooLarge) { try set(most + peer) }
        let allowed = peer + String(repeating: "allowed_ip=10.0.0.1/32\n", count: DeviceOperation.maximumAllowedIPs)
        #expect(try set(allowed).peers[0].allowedIPs.count == DeviceOperation.maximumAllowedIPs)
        #expect(throws: OperationError.tooLarge) { try set(allowed + "allowed_ip=10.0.0.1/32\n") }
    }

    private func set(_ lines: String) throws -> DeviceChange {
        guard case .set(let change) = try operation("set=1\n" + lines) else { throw OperationError.malformed }
        return change
    }

    private func operation(_ text: String) throws(OperationError) -> DeviceOperation {
        try unsafe DeviceOperation(parsing: Array(text.utf8).span.bytes) { $0 == "eth0" ? 7 : nil }
    }
}
