import Testing
import WireGuardConfig

/// Whatever file is accepted: each of its lines is exported as it was typed, or the report says what became of it.
@Suite struct ReportCompletenessTests {
    private static let parts: [Range<UInt64>] = (0..<4).map { $0 * 500..<($0 + 1) * 500 }

    @Test(arguments: parts)
    func `a line that an export has otherwise is never called kept`(seeds: Range<UInt64>) throws {
        var accepted = 0
        for seed in seeds {
            let text = Self.randomFile(seed: seed)
            guard let result = try? ConfigurationReader.read(Array(text.utf8)) else { continue }
            accepted += 1
            let export = try ConfigurationWriter.bytes(of: result.configuration, with: result.secrets)
            let exported = Self.lines(of: String(decoding: export, as: UTF8.self))
            var kept: [Place: [String]] = [:]
            for line in Self.lines(of: text) {
                let entries = result.report.entries.filter { $0.line == line.number }
                #expect(!entries.isEmpty, "seed \(seed), line \(line.number) isn't in the report")
                if entries.allSatisfy({ $0.kind == .kept }) { kept[line.place, default: []] += line.items }
            }
            for (place, items) in kept {
                let written = exported.filter { $0.place == place }.flatMap(\.items)
                #expect(Self.isSubsequence(items, of: written), "seed \(seed), \(place): \(items) is \(written)")
            }
        }
        // Else the test would show nothing.
        #expect(accepted > seeds.count / 4)
    }

    @Test func `what is written otherwise is told with how it is written`() throws {
        let reading = try Reading(
            Sample.file(
                interface: """
                    ListenPort = 051820
                    MTU = 01420
                    Table = OFF
                    FwMark = 16
                    SaveConfig = TRUE
                    DNS = corp.example, 2001:DB8::1
                    DNS = 10.0.0.1, ~lab.example
                    """,
                peer: "Endpoint = [2001:DB8:0::1]:051820\nPersistentKeepalive = 0\nAllowedIPs = ::/0"
            )
        )
        #expect(reading.entries("ListenPort") == ["changed: written as 51820"])
        #expect(reading.entries("MTU") == ["changed: written as 1420"])
        #expect(reading.entries("Table") == ["changed: written as off"])
        #expect(reading.entries("FwMark").first?.hasSuffix("; written as 0x10") == true)
        #expect(reading.entries("SaveConfig").first?.hasSuffix("; written as true") == true)
        let order = "moved: servers are written first, then search domains, then route-only ones"
        #expect(reading.entries("DNS") == ["changed: written as 2001:db8::1; \(order)", "changed: \(order)"])
        #expect(reading.entries("Endpoint") == ["changed: written as [2001:db8::1]:51820"])
        #expect(reading.entries("PersistentKeepalive") == ["changed: written as off"])
    }

    @Test func `a peer without AllowedIPs is warned of, as one with an empty list is`() throws {
        let without = try Reading(Sample.file(peer: "Endpoint = 192.0.2.1:1"))
        #expect(
            without.report.warnings.map(\.description) == [
                "line 4: warning: this [Peer] has no AllowedIPs: it can be reached, but nothing is sent to it or taken from it"
            ]
        )
        #expect(try Reading(Sample.file(peer: "AllowedIPs =")).report.warnings.map(\.line) == [6])
        #expect(try Reading(Sample.file(peer: "AllowedIPs = ::/0")).report.warnings.isEmpty)
    }

    // MARK: Files

    private struct Place: Hashable {
        let section: Int
        let key: String
    }

    private struct Line {
        let number: Int
        let place: Place
        let items: [String]
    }

    /// A file with each value in one of many forms, good ones mostly.
    private static func randomFile(seed: UInt64) -> String {
        var random = SeededGenerator(seed: seed)
        var lines = ["[Interface]", "PrivateKey = \(Sample.privateKey)"]
        let dns = ["10.0.0.1", "2001:DB8::1", "fd00::1", "corp.example", "A.Example.", "~lab.example", "~."]
        let addresses = ["10.0.0.2/24", "10.0.0.3", "FD00::2/64", "fd00:0:0::3/64", "fd00::4/128"]
        let networks = ["10.1.0.0/16", "10.2.0.1/16", "10.3.0.0", "2001:DB8::/32", "2001:db8:1::/48", "0.0.0.0/0"]
        let choices: [(String, [String])] = [
            ("ListenPort", ["0", "51820", "00051820"]), ("MTU", ["1420", "01420"]),
            ("Table", ["off", "OFF", "auto", "7", "0x10", "main"]), ("FwMark", ["off", "0", "0x10", "16"]),
            ("SaveConfig", ["true", "FALSE"]), ("PostUp", ["a # b", "a   b", "x"]), ("preup", ["y"]),
        ]
        for _ in 0..<random.number(0...8) {
            switch random.number(0...3) {
            case 0: lines.append("DNS = " + list(dns, &random))
            case 1: lines.append("Address=" + list(addresses, &random))
            default:
                let (key, values) = random.pick(choices)
                lines.append("\(random.chance(20) ? key.uppercased() : key) = \(random.pick(values))")
            }
        }
        let endpoints = [
            "vpn.example:51820", "VPN.example.:051820", "[FD00:0::1]:1", "[fe80::1%eth0]:2", "192.0.2.1:3",
        ]
        for peer in 0..<random.number(0...2) {
            lines += ["[Peer]", "PublicKey = \(Sample.peers[peer])"]
            if random.chance(50) { lines.append("Endpoint = \(random.pick(endpoints))") }
            if random.chance(30) { lines.append("PresharedKey = \(Sample.presharedKeys[peer])") }
            if random.chance(60) { lines.append("AllowedIPs = " + list(peer == 0 ? networks : ["::/0"], &random)) }
            if random.chance(50) {
                lines.append("PersistentKeepalive = \(random.pick(["0", "off", "25", "OFF", "025"]))")
            }
        }
        if random.chance(10) { lines.insert("# comment", at: random.number(0...lines.count)) }
        if random.chance(5) { lines.append(random.pick(lines)) }
        return lines.joined(separator: random.pick(["\n", "\r\n", "\r"]))
    }

    private static func list(_ items: [String], _ random: inout SeededGenerator) -> String {
        let separator = random.pick([",", ", ", " , "])
        return (0..<random.number(0...4)).map { _ in random.pick(items) }.joined(separator: separator)
    }

    /// The lines of a file that hold a value, read in another way than the reader does.
    private static func lines(of text: String) -> [Line] {
        var section = -1
        return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated().compactMap {
            (index, line) -> Line? in
            if line.hasPrefix("[") { section += 1 }
            guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#") else { return nil }
            let key = line[..<equals].filter { $0 != " " }.lowercased()
            let value = line[equals...].dropFirst().drop { $0 == " " }
            let isList = ["dns", "address", "allowedips"].contains(key)
            let items = isList ? value.split { $0 == "," || $0 == " " }.map(String.init) : [String(value)]
            return Line(number: index + 1, place: Place(section: section, key: key), items: items)
        }
    }

    private static func isSubsequence(_ items: [String], of whole: [String]) -> Bool {
        var rest = whole[...]
        for item in items {
            guard let index = rest.firstIndex(of: item) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}
