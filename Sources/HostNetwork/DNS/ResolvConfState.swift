import FoundationEssentials
import NetworkTypes

/// What stands at a path, as far as it can be put back.
enum FileContent: Hashable, Sendable, Codable {
    struct Regular: Hashable, Sendable, Codable {
        var data: Data
        var mode: UInt32
        var user: UInt32
        var group: UInt32

        var text: String { String(decoding: data, as: UTF8.self) }
    }

    case missing
    case link(target: String)
    case file(Regular)
}

/// A resolv.conf that we have written: what stood there before, and the tunnels that it speaks for.
///
/// All of it stands in a comment of the file itself, so that whoever finds the file can put back what was there: the next
/// tunneld, after a crash of this one or a new start of the machine too.
struct ResolvConfState: Hashable, Sendable, Codable {
    struct Tunnel: Hashable, Sendable, Codable {
        let interface: InterfaceIdentity
        let servers: [String]
        let searchDomains: [String]
        /// Whether no other server is to be asked.
        let takesAllNames: Bool

        init(_ interface: InterfaceIdentity, _ link: LinkDNS) {
            self.interface = interface
            servers = link.servers.map(\.description)
            searchDomains = link.searchDomains
            takesAllNames = link.takesAllNames
        }
    }

    var original: FileContent
    /// The original's lines as they were when this was written; where it is a link, those of the file behind it.
    var base: ResolvConf
    /// The one that was started last is the first.
    var tunnels: [Tunnel]

    init(original: FileContent, base: ResolvConf, tunnels: [Tunnel]) {
        self.original = original
        self.base = base
        self.tunnels = tunnels
    }

    /// What the C library uses (MAXNS of resolv.h).
    static let serverLimit = 3
    private static let marker = "# tunneld: "
    private static let headings = ["# Written by tunneld for ", "# next line, so leave that as it is. "]

    var text: String {
        let names = tunnels.map(\.interface.name).joined(separator: ", ")
        var lines = [
            Self.headings[0] + "\(names). What stood here before comes back when the tunnel ends, and is kept in the",
            Self.headings[1] + "Lines that others add stay.",
            Self.marker + encoded,
        ]
        lines += servers.map { "nameserver \($0)" }
        let search = searchDomains
        if !search.isEmpty { lines.append("search " + search.joined(separator: " ")) }
        lines += base.others.compactMap(Self.withoutTrust)
        return lines.joined(separator: "\n") + "\n"
    }

    var servers: [String] {
        let own = tunnels.flatMap(\.servers)
        let others = tunnels.contains { $0.takesAllNames && !$0.servers.isEmpty } ? [] : base.servers
        return (own + others).withoutDoubles()
    }

    private var searchDomains: [String] {
        (tunnels.flatMap(\.searchDomains) + base.searchDomains).withoutDoubles()
    }

    /// That a resolver's own word on validated answers can be trusted is true of the one that stood there, if at all.
    private static func withoutTrust(_ line: String) -> String? {
        let words = line.split { $0 == " " || $0 == "\t" }.filter { $0 != "trust-ad" }
        return words.count > 1 ? words.joined(separator: " ") : nil
    }

    private var encoded: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Reads a file of ours; nil for anybody else's.
    init?(reading content: FileContent) {
        guard case .file(let file) = content else { return nil }
        let line = file.text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(Self.marker) }
        guard let line,
            let state = try? JSONDecoder().decode(Self.self, from: Data(line.dropFirst(Self.marker.count).utf8))
        else { return nil }
        self = state
    }

    /// What stood there before, with the lines that others have added to a file of ours since: what they put ahead of ours is
    /// ahead of it, and all else behind it.
    func original(_ old: String, withAdditionsOf text: String) -> String {
        let own = Set(self.text.split(whereSeparator: \.isNewline))
        let lines = text.split(whereSeparator: \.isNewline)
        let start = lines.firstIndex { own.contains($0) } ?? lines.endIndex
        let isAdded = { (line: Substring) in !own.contains(line) && !line.hasPrefix(Self.marker) }
        let ahead = lines[..<start].filter(isAdded)
        let behind = lines[start...].filter(isAdded)
        let end = old.isEmpty || old.hasSuffix("\n") || behind.isEmpty ? "" : "\n"
        return ahead.map { $0 + "\n" }.joined() + old + end + behind.map { $0 + "\n" }.joined()
    }

    /// The lines that others have added to a file of ours that took a link's place, or nothing's; nil where no server is
    /// among them.
    func leftover(of text: String) -> String? {
        let left = original("", withAdditionsOf: text)
        return ResolvConf(left).servers.isEmpty ? nil : left
    }

    /// A file of ours whose mark somebody has taken out or damaged, without what is surely ours; nil for anybody else's.
    static func unmarked(_ text: String, _ tunnels: [Tunnel]) -> String? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.contains(where: { line in headings.contains(where: line.hasPrefix) }) else { return nil }
        let servers = Set(tunnels.flatMap(\.servers))
        let domains = Set(tunnels.flatMap(\.searchDomains))
        let left = lines.compactMap { line -> String? in
            if line.hasPrefix(marker) || headings.contains(where: line.hasPrefix) { return nil }
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            switch words.first {
            case "nameserver" where words.count == 2 && servers.contains(words[1]): return nil
            case "search":
                let others = words.filter { !domains.contains($0) }
                return others.count > 1 ? others.joined(separator: " ") : nil
            default: return String(line)
            }
        }
        return left.joined(separator: "\n")
    }
}
