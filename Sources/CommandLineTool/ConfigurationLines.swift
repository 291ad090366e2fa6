import ControlAPI
import WireGuardConfig

/// The options of `new` as the lines of a `.conf` file, each with the option that it came from.
struct ConfigurationLines {
    private var lines: [(text: String, option: Option?)] = [("[Interface]", nil)]

    /// - Throws: `UsageError` for an option of a peer before the first peer, and for what would begin another line.
    init(_ options: [Invocation.GivenOption]) throws(UsageError) {
        var hasPeer = false
        var peers: [(text: String, option: Option?)] = []
        for given in options {
            guard let key = Self.key(of: given.option), let value = given.value else { continue }
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "#") }) else {
                throw UsageError("\(given.option.rawValue) takes a value of one line without \"#\".")
            }
            let line = (text: "\(key) = \(value)", option: Optional(given.option))
            switch given.option {
            case .peer:
                hasPeer = true
                peers += [("[Peer]", nil), line]
            case .endpoint, .allowedIPs, .keepalive:
                guard hasPeer else {
                    throw UsageError(
                        "\(given.option.rawValue) stands before any --peer.",
                        hint: "Write --peer KEY and then what is this peer's."
                    )
                }
                peers.append(line)
            default: lines.append(line)
            }
        }
        lines += peers
    }

    var file: [UInt8] { lines.flatMap { Array($0.text.utf8) + [UInt8(ascii: "\n")] } }

    /// An error of a line as one of its option.
    func fault(_ error: ImportError) -> ControlError {
        let option = lines.indices.contains(error.line - 1) ? lines[error.line - 1].option : nil
        let key = option?.rawValue ?? error.key ?? "the options"
        return ControlError(.invalidParameter, "\(key): \(error.reason).", remedy: error.hint, field: key)
    }

    private static func key(of option: Option) -> String? {
        switch option {
        case .address: "Address"
        case .listenPort: "ListenPort"
        case .dns: "DNS"
        case .mtu: "MTU"
        case .peer: "PublicKey"
        case .endpoint: "Endpoint"
        case .allowedIPs: "AllowedIPs"
        case .keepalive: "PersistentKeepalive"
        default: nil
        }
    }
}
