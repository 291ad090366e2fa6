import WireGuardConfig

/// Keys and files for tests.
enum Sample {
    static let privateKey = key(1)
    static let presharedKeys = [key(11), key(12), key(13)]
    static let peers = [key(21), key(22), key(23)]

    /// A key in base64 that no other seed gives.
    static func key(_ seed: UInt8) -> String {
        let bytes = (0..<32 as Range<UInt8>).map { seed &* 37 &+ $0 &* 11 &+ 5 }
        return WireGuardPublicKey(bytes: bytes)?.description ?? ""
    }

    static func bytes(_ key: String) -> [UInt8] { WireGuardPublicKey(key)?.bytes ?? [] }

    /// Three peers, two of them with a pre-shared key, and every key of a file.
    static let whole = """
        [Interface]
        PrivateKey = \(privateKey)
        ListenPort = 51820
        Address = 10.0.0.2/24, fd00::2/64
        DNS = 10.0.0.1, corp.example, ~lab.example
        MTU = 1420
        Table = off
        FwMark = 0x1234
        SaveConfig = true
        PreUp = echo one # two
        PostUp = touch /tmp/marker; echo a = b
        PreDown = echo three
        PostDown = echo four

        [Peer]
        PublicKey = \(peers[0])
        PresharedKey = \(presharedKeys[0])
        Endpoint = vpn.example.com:51820
        AllowedIPs = 0.0.0.0/0, ::/0
        PersistentKeepalive = 25

        [Peer]
        PublicKey = \(peers[1])
        AllowedIPs = 10.1.0.0/16

        [Peer]
        PublicKey = \(peers[2])
        PresharedKey = \(presharedKeys[1])
        Endpoint = [2001:db8::1]:51820
        AllowedIPs = 10.2.0.0/16
        PersistentKeepalive = off

        """

    /// A file with these lines below the key of its interface and these below that of its one peer.
    static func file(interface: String = "", peer: String? = nil) -> String {
        let head = "[Interface]\nPrivateKey = \(privateKey)\n\(interface)\n"
        return head + (peer.map { "[Peer]\nPublicKey = \(peers[0])\n\($0)\n" } ?? "")
    }
}

/// What reading a file gave, without its secrets.
struct Reading: Equatable {
    var configuration: WireGuardConfiguration
    var report: ImportReport
    var secrets: [String: [UInt8]]

    init(_ text: String) throws(ImportErrors) { try self.init(Array(text.utf8)) }

    init(_ bytes: [UInt8]) throws(ImportErrors) {
        let result = try ConfigurationReader.read(bytes)
        configuration = result.configuration
        report = result.report
        secrets = [:]
        for reference in result.secrets.references { secrets[reference] = result.secrets.bytes(for: reference) }
    }

    /// The entries of a key as "kind: text".
    func entries(_ key: String?) -> [String] {
        report.entries.filter { $0.key == key }.map { "\($0.kind.rawValue): \($0.text)" }
    }
}

/// The errors of a file that must have some, as text.
func errors(of text: String) -> [String] {
    do {
        _ = try Reading(text)
        return []
    } catch {
        return error.errors.map(\.description)
    }
}
