import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct ConfigurationReaderTests {
    private static let whole = Sample.whole

    @Test func `a whole file gives its configuration`() throws {
        let configuration = try Reading(Sample.whole).configuration
        #expect(configuration.privateKeyReference == "new:private-key")
        #expect(configuration.addresses.map(\.description) == ["10.0.0.2/24", "fd00::2/64"])
        #expect(configuration.dns.servers.map(\.description) == ["10.0.0.1"])
        #expect(configuration.dns.searchDomains == ["corp.example"])
        #expect(configuration.dns.routeOnlyDomains == ["lab.example"])
        #expect(configuration.mtu == 1420)
        #expect(configuration.listenPort == 51820)
        #expect(configuration.table == .off)
        #expect(configuration.firewallMark == 0x1234)
        #expect(configuration.saveConfig == true)
        #expect(configuration.hooks.map(\.event) == [.preUp, .postUp, .preDown, .postDown])
        #expect(configuration.hooks[0].command == "echo one # two")
        #expect(configuration.hooks[1].command == "touch /tmp/marker; echo a = b")
        #expect(configuration.peers.map(\.publicKey.description) == Sample.peers)
        #expect(
            configuration.peers.map(\.endpoint?.description) == ["vpn.example.com:51820", nil, "[2001:db8::1]:51820"]
        )
        #expect(configuration.peers[0].allowedIPs == [.allIPv4, .allIPv6])
        #expect(configuration.peers.map(\.persistentKeepalive) == [25, nil, 0])
        #expect(
            configuration.peers.map(\.presharedKeyReference) == ["new:preshared-key-1", nil, "new:preshared-key-2"]
        )
    }

    @Test func `secrets go beside the configuration and are counted`() throws {
        let reading = try Reading(Sample.whole)
        #expect(reading.report.secretsSummary == "1 private key and 2 pre-shared keys moved to the keychain")
        #expect(reading.report.peers == 3)
        #expect(
            reading.secrets == [
                "new:private-key": Sample.bytes(Sample.privateKey),
                "new:preshared-key-1": Sample.bytes(Sample.presharedKeys[0]),
                "new:preshared-key-2": Sample.bytes(Sample.presharedKeys[1]),
            ]
        )
    }

    @Test func `each line is reported with what became of it`() throws {
        let reading = try Reading(Sample.whole)
        let lines = reading.report.entries.map(\.line)
        #expect(lines == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 23, 24, 27, 28, 29, 30, 31])
        #expect(reading.entries("PrivateKey") == ["kept: moved to the keychain"])
        #expect(reading.entries("Address") == ["kept: 10.0.0.2/24, fd00::2/64"])
        #expect(reading.entries("DNS") == ["kept: 1 server, 1 search domain, 1 route-only domain"])
        #expect(reading.entries("Table") == ["kept: off"])
        #expect(
            reading.entries("FwMark") == [
                "ignored: kept for export only: tunneld marks its packets by a mark of its own"
            ]
        )
        #expect(
            reading.entries("SaveConfig") == ["ignored: kept for export only: an imported file is never written to"]
        )
        let hook = "ignored: kept for display and export only: a hook of an imported file never runs"
        #expect(reading.entries("PostUp") == [hook])
        #expect(reading.entries("PublicKey") == ["kept: peer 1", "kept: peer 2", "kept: peer 3"])
        #expect(reading.entries("PersistentKeepalive") == ["kept: 25 seconds", "kept: off"])
        #expect(reading.report.warnings.isEmpty)
    }

    @Test(arguments: [0, 1, 2])
    func `keys and headers are matched without regard to case`(style: Int) throws {
        let lines = Sample.whole.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            let isHeader = line.hasPrefix("[")
            let key = isHeader ? String(line) : String(line.prefix { $0 != " " })
            let styled =
                switch style {
                case 0: key.lowercased()
                case 1: key.uppercased()
                default:
                    String(
                        key.enumerated().map { $0 % 2 == 0 ? Character($1.lowercased()) : Character($1.uppercased()) }
                    )
                }
            return styled + line.dropFirst(key.count)
        }
        let text = lines.joined(separator: "\n").replacing("= off", with: "= OFF").replacing("= true", with: "= True")
        let (reading, plain) = (try Reading(text), try Reading(Sample.whole))
        #expect(reading.configuration == plain.configuration && reading.secrets == plain.secrets)
    }

    // MARK: Lines

    private static let lineEnds: [[String]] = [["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"], ["\r", "\r\n"]]

    private static func join(_ text: String, _ ends: [String]) -> [UInt8] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().reduce(into: []) { bytes, line in
            bytes += line.element.utf8
            if line.offset + 1 < lines.count { bytes += ends[line.offset % ends.count].utf8 }
        }
    }

    @Test(arguments: lineEnds)
    func `every kind of line end gives the same`(ends: [String]) throws {
        // An empty line after CR LF would begin with the CR of a lone CR: the sample's are filled.
        let text = Sample.whole.replacing("\n\n", with: "\n \n")
        #expect(try Reading(Self.join(text, ends)) == Reading(text))
        #expect(try Reading(Self.join(String(text.dropLast()), ends)) == Reading(text))
    }

    @Test(arguments: lineEnds)
    func `an error on line 7 is reported on line 7`(ends: [String]) throws {
        let text = Sample.whole.replacing("Table = off", with: "Tabel = off")
        let error = try #require(throws: ImportErrors.self) { try Reading(Self.join(text, ends)) }
        #expect(error.errors.map(\.line) == [7])
    }

    @Test func `a byte order mark is passed over`() throws {
        #expect(try Reading([0xef, 0xbb, 0xbf] + Array(Sample.whole.utf8)) == Reading(Sample.whole))
    }

    private static let comments = [
        "# text", "#", "#\u{20e3} keycap", "#\u{301}\u{fe0f}\u{20e3}", "# Endpoint = 1.2.3.4:5",
    ]

    @Test(arguments: comments)
    func `a comment changes nothing, at the end of any line and on its own`(comment: String) throws {
        let plain = try Reading(Sample.whole)
        let lines = Sample.whole.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let hooks = ["PreUp", "PostUp", "PreDown", "PostDown"]
        for index in lines.indices where !hooks.contains(where: lines[index].hasPrefix) {
            var copy = lines
            copy[index] += comment
            #expect(try Reading(copy.joined(separator: "\n")).configuration == plain.configuration)
            copy = lines
            copy.insert(" \t" + comment, at: index)
            #expect(try Reading(copy.joined(separator: "\n")).configuration == plain.configuration)
        }
        let raw = Array((comment + " ").utf8) + [0xff, 0x00, 0xfe, 0x0a]
        let reading = try Reading(raw + Array(Sample.whole.utf8))
        #expect(reading.configuration == plain.configuration)
        #expect(reading.entries(nil) == ["ignored: 1 comment not kept"])
    }

    @Test func `a comment at any token boundary cuts the rest of its line`() {
        #expect(
            errors(of: Sample.file(interface: "MTU # = 1420")) == [
                "line 3: no = follows MTU. Write it as in MTU = value."
            ]
        )
        #expect(
            errors(of: Sample.file(interface: "MTU = # 1420"))
                == ["line 3, column 6: MTU: has no value. Write one, or leave out the line."]
        )
        #expect(
            errors(of: Sample.file(interface: "[Peer # ]")).first == "line 3: the ] of the section's header is missing."
        )
    }

    @Test func `blanks stand around keys, values, commas and in headers`() throws {
        let text =
            "\t[ Interface\t] \n  PrivateKey\t=\u{b}\(Sample.privateKey)\u{c}\n Address =10.0.0.2/24 ,\t10.0.0.3/24\n"
        let configuration = try Reading(text).configuration
        #expect(configuration.addresses.map(\.description) == ["10.0.0.2/24", "10.0.0.3/24"])
    }

    @Test func `lines and files have limits, at which they are taken`() throws {
        let line = "# " + String(repeating: "x", count: 65_534)
        #expect(try Reading(line + "\n" + Sample.whole).configuration == Reading(Sample.whole).configuration)
        #expect(errors(of: line + "x\n" + Sample.whole) == ["line 1: the line is longer than the limit of 64 KiB."])
        let file = [UInt8](repeating: 0x0a, count: (16 << 20) + 1)
        let error = try #require(throws: ImportErrors.self) { try Reading(file) }
        #expect(error.description == "the file is larger than the limit of 16 MiB.")
    }

    @Test func `a file may have 65536 peers and no more`() throws {
        let peers = String(repeating: "[Peer]\n", count: 65_536)
        let reason = "the file has more than 65536 peers"
        let error = try #require(throws: ImportErrors.self) { try Reading(Sample.file() + peers + "[Peer]\nMTU = 1\n") }
        #expect(error.errors.filter { $0.reason == reason }.map(\.line) == [65_540])
    }

    @Test func `of very many errors the first thousand are listed and the rest counted`() throws {
        let text = Sample.file(interface: String(repeating: "x = 1\n", count: 1500))
        let error = try #require(throws: ImportErrors.self) { try Reading(text) }
        #expect(error.errors.count == 1000)
        #expect(error.omitted == 500)
        #expect(error.description.hasSuffix("\nand 500 more errors"))
    }
}
