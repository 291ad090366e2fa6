/// The keys of a `.conf` file: those of wg(8) and those of wg-quick(8).
enum FileKey: String, CaseIterable {
    case privateKey = "PrivateKey"
    case listenPort = "ListenPort"
    case address = "Address"
    case dns = "DNS"
    case mtu = "MTU"
    case table = "Table"
    case firewallMark = "FwMark"
    case saveConfig = "SaveConfig"
    case preUp = "PreUp"
    case postUp = "PostUp"
    case preDown = "PreDown"
    case postDown = "PostDown"
    case publicKey = "PublicKey"
    case presharedKey = "PresharedKey"
    case endpoint = "Endpoint"
    case allowedIPs = "AllowedIPs"
    case persistentKeepalive = "PersistentKeepalive"

    enum Section: String, CaseIterable { case interface = "Interface", peer = "Peer" }

    var section: Section {
        switch self {
        case .publicKey, .presharedKey, .endpoint, .allowedIPs, .persistentKeepalive: .peer
        default: .interface
        }
    }

    /// The hook of this key; its value keeps "#" and all that follows.
    var hookEvent: Hook.Event? { Hook.Event(rawValue: rawValue) }

    /// Whether further lines add to the first instead of replacing it.
    var accumulates: Bool { self == .address || self == .dns || self == .allowedIPs || hookEvent != nil }

    private static let longest = 19
    private static let byLowercase = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })

    /// Finds a key without regard to ASCII case.
    static func named(_ text: ArraySlice<UInt8>) -> FileKey? {
        text.count <= longest ? byLowercase[text.lowercasedText] : nil
    }

    /// The names of a section's keys, then those of the other, for suggestions.
    static func names(startingWith section: Section) -> [String] {
        let own = allCases.filter { $0.section == section }
        return (own + allCases.filter { $0.section != section }).map(\.rawValue)
    }
}
