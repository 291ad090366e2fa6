import NetworkTypes
import WireGuardConfig

/// A small generator with a seed, so that a failing round can be run again (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

extension SeededGenerator {
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
    mutating func pick<T>(_ choices: [T]) -> T { choices[number(0...choices.count - 1)] }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
    mutating func list<T>(_ count: Int, _ make: (inout SeededGenerator) -> T?) -> [T] {
        (0..<count).compactMap { _ in make(&self) }
    }
    mutating func maybe<T>(_ percent: Int, _ make: (inout SeededGenerator) -> T?) -> T? {
        chance(percent) ? make(&self) : nil
    }

    mutating func address() -> IPAddress {
        chance(50)
            ? .v4(IPv4Address(UInt8(number(1...223)), UInt8(number(0...255)), UInt8(number(0...255)), 1))
            : .v6(IPv6Address(high: 0xfd00_0000_0000_0000 | next() >> 8, low: pick([0, 1, next()])))
    }

    mutating func prefix() -> IPPrefix? {
        let address = address()
        return IPPrefix(address, length: number(0...address.bitCount))
    }

    mutating func domain() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
        let labels = (0..<number(1...4)).map { _ in String((0..<number(1...12)).map { _ in pick(letters) }) }
        return labels.joined(separator: ".") + ".example" + (chance(5) ? "." : "")
    }

    mutating func endpoint() -> PeerEndpoint? {
        let port = UInt16(number(1...65535))
        switch number(0...3) {
        case 0: return PeerEndpoint(.name(domain()), port: port)
        case 1:
            let local = IPAddress.v6(IPv6Address(high: 0xfe80_0000_0000_0000, low: next()))
            return PeerEndpoint(
                .address(local, zone: maybe(70) { $0.pick(["eth0", "wlp3s0", "7", "br-lan.2"]) }),
                port: port
            )
        default: return PeerEndpoint(.address(address(), zone: nil), port: port)
        }
    }

    mutating func hook() -> Hook? {
        let words = ["iptables", "-A", "%i", "#", "a=b", "\"ü\"", ";", "[Peer]", "echo\t1", "🔑", ",", "$(cat x)", "|"]
        let command = (0..<number(1...8)).map { _ in pick(words) }.joined(separator: " ")
        return Hook(pick(Hook.Event.allCases), command)
    }

    mutating func table() -> RoutingTable {
        pick([.off, .auto, .number(UInt32(number(1...Int(UInt32.max)))), .name("main"), .name("my-table.2")])
    }
}

/// A valid configuration with anything that may stand in one, and secrets for its references.
struct RandomConfiguration: ~Copyable {
    let configuration: WireGuardConfiguration
    let secrets: ConfigurationSecrets

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var secrets = ConfigurationSecrets()
        var taken: Set<IPPrefix> = []
        secrets.insert(random.bytes(32), for: SecretPlaceholder.privateKey)
        // Few peers and prefixes mostly, so that many rounds take little time.
        let peerCount = random.number(0...(random.chance(2) ? 50 : 3))
        var presharedKeys = 0
        let peers = random.list(peerCount) { random in
            WireGuardPublicKey(bytes: random.bytes(32)).map { key in
                var peer = WireGuardConfiguration.Peer(publicKey: key)
                if random.chance(40) {
                    presharedKeys += 1
                    peer.presharedKeyReference = SecretPlaceholder.presharedKey(presharedKeys)
                    secrets.insert(random.bytes(32), for: SecretPlaceholder.presharedKey(presharedKeys))
                }
                peer.endpoint = random.maybe(60) { $0.endpoint() }
                let prefixes = random.list(random.number(0...(random.chance(2) ? 80 : 3))) { $0.prefix() }
                peer.allowedIPs = prefixes.filter { taken.insert($0.network).inserted }
                peer.persistentKeepalive = random.maybe(40) { UInt16($0.pick([0, 1, 25, 65535])) }
                return peer
            }
        }
        configuration = WireGuardConfiguration(
            privateKeyReference: SecretPlaceholder.privateKey,
            addresses: random.list(random.number(0...4)) { $0.prefix() },
            dns: .init(
                servers: random.list(random.number(0...2)) { $0.address() },
                searchDomains: random.list(random.number(0...2)) { $0.domain() },
                routeOnlyDomains: random.list(random.number(0...2)) { $0.chance(20) ? "." : $0.domain() }
            ),
            mtu: random.maybe(40) { $0.number(1280...65535) },
            listenPort: random.maybe(40) { UInt16($0.number(0...65535)) },
            table: random.maybe(30) { $0.table() },
            firewallMark: random.maybe(20) { UInt32($0.pick([0, 1, 51820, Int(UInt32.max)])) },
            saveConfig: random.maybe(20) { $0.chance(50) },
            hooks: random.list(random.number(0...3)) { $0.hook() },
            peers: peers
        )
        self.secrets = secrets
    }
}

extension ConfigurationSecrets {
    mutating func insert(_ bytes: [UInt8], for reference: String) {
        let inserted = unsafe insert(bytes.span.bytes, for: reference)
        precondition(inserted, "a key has 32 bytes")
    }

    func bytes(for reference: String) -> [UInt8]? {
        withKey(for: reference) { key in
            (0..<key.byteCount).map { unsafe key.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
    }
}
