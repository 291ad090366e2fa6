import NetworkTypes

/// The lines of a resolv.conf(5) that matter here.
struct ResolvConf: Hashable, Sendable, Codable {
    /// As they stand there: also names of zones and what is no address.
    var servers: [String] = []
    var searchDomains: [String] = []
    /// Whole lines, such as "options edns0" and "sortlist …".
    var others: [String] = []

    init() {}

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split { $0 == " " || $0 == "\t" }
            guard let key = words.first, !key.hasPrefix("#"), !key.hasPrefix(";") else { continue }
            switch key {
            case "nameserver": if words.count > 1 { servers.append(String(words[1])) }
            // The last one counts; "domain" is a search list of one.
            case "search":
                searchDomains = words.dropFirst().prefix { !$0.hasPrefix("#") && !$0.hasPrefix(";") }.map(String.init)
            case "domain": searchDomains = words.dropFirst().prefix(1).map(String.init)
            default: others.append(String(line))
            }
        }
    }

    /// The two addresses at which systemd-resolved listens for programs (systemd-resolved.service(8)).
    static let stubs: Set<String> = ["127.0.0.53", "127.0.0.54"]

    /// Whether programs ask systemd-resolved and nobody else.
    var isStub: Bool { !servers.isEmpty && servers.allSatisfy(Self.stubs.contains) }
}
