import NetworkTypes

/// What was read of the `[Interface]` sections so far.
struct InterfaceDraft {
    /// Of the first header.
    var line: Int?
    /// The line of each key, the last one where it stands again.
    var seen: [FileKey: Int] = [:]
    var privateKeySlot: Int?
    var addresses: [IPPrefix] = []
    var dns = WireGuardConfiguration.DNS()
    /// The highest rank of a word of `DNS` so far.
    var lastDNSRank = 0
    var mtu: FileValue?
    var mtuBytes: Int?
    var listenPort: UInt16?
    var table: RoutingTable?
    var firewallMark: UInt32?
    var saveConfig: Bool?
    var hooks: [Hook] = []
    /// The line of each hook.
    var hookLines: [Int] = []
}

/// What was read of one `[Peer]` section so far.
struct PeerDraft {
    let line: Int
    var seen: [FileKey: Int] = [:]
    var publicKey: WireGuardPublicKey?
    var presharedKeySlot: Int?
    var endpoint: PeerEndpoint?
    var allowedIPs: [(prefix: IPPrefix, line: Int)] = []
    var persistentKeepalive: UInt16?
}

/// A key and its value, and where they stand.
struct FileValue {
    let line: Int
    /// Where the value begins, in bytes from 1.
    let column: Int
    let key: FileKey
    let text: ArraySlice<UInt8>
}
