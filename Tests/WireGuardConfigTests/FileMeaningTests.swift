import ControlAPI
import NetworkTypes
import Testing
import WireGuardConfig

/// What keys mean when they stand again, stand empty, or hold odd but good values.
@Suite struct FileMeaningTests {
    // MARK: Repeated and empty

    @Test func `a list means the same over one line or many, however it is cut`() throws {
        let prefixes = ["10.0.0.0/8", "192.168.1.0/24", "fd00::/8", "172.16.0.1/32", "2001:db8::/32", "100.64.0.0/10"]
        for cuts in 0..<32 {
            var lines = "AllowedIPs = \(prefixes[0])"
            for index in 1..<6 {
                lines += cuts >> (index - 1) & 1 == 1 ? "\nAllowedIPs = " : ", "
                lines += prefixes[index]
            }
            let configuration = try Reading(Sample.file(peer: lines)).configuration
            #expect(configuration.peers[0].allowedIPs.map(\.description) == prefixes, "\(cuts)")
        }
    }

    @Test func `addresses, servers and hooks add up over lines, with commas or blanks between`() throws {
        let lines = """
            Address = 10.0.0.2/24 10.0.0.3/24
            Address = fd00::2/64,fd00::3/64
            DNS = 10.0.0.1 corp.example
            DNS = ~., 10.0.0.4
            PostUp = one
            PostUp = two
            """
        let configuration = try Reading(Sample.file(interface: lines)).configuration
        #expect(
            configuration.addresses.map(\.description) == ["10.0.0.2/24", "10.0.0.3/24", "fd00::2/64", "fd00::3/64"]
        )
        #expect(configuration.dns.servers.map(\.description) == ["10.0.0.1", "10.0.0.4"])
        #expect(configuration.dns.searchDomains == ["corp.example"])
        #expect(configuration.dns.routeOnlyDomains == ["."])
        #expect(configuration.hooks.map(\.command) == ["one", "two"])
    }

    private static let singles = [
        ("MTU", "1400", "1500"), ("ListenPort", "1", "2"), ("Table", "off", "auto"), ("FwMark", "1", "2"),
        ("SaveConfig", "true", "false"), ("Endpoint", "192.0.2.1:1", "192.0.2.2:2"), ("PersistentKeepalive", "1", "2"),
        ("PresharedKey", Sample.presharedKeys[0], Sample.presharedKeys[1]),
    ]

    @Test(arguments: singles)
    func `the last of a repeated single value counts, and a warning names both lines`(
        key: String,
        first: String,
        last: String
    ) throws {
        let isOfPeer = ["Endpoint", "PersistentKeepalive", "PresharedKey"].contains(key)
        func file(_ lines: String) -> String {
            let allowed = "AllowedIPs = ::/0"
            return isOfPeer ? Sample.file(peer: "\(lines)\n\(allowed)") : Sample.file(interface: lines, peer: allowed)
        }
        let reading = try Reading(file("\(key) = \(first)\n\(key) = \(last)"))
        let single = try Reading(file("\(key) = \(last)"))
        #expect(reading.configuration == single.configuration)
        #expect(reading.secrets == single.secrets)
        let line = isOfPeer ? 6 : 3
        let warning = "stands on line \(line) already; this one on line \(line + 1) counts"
        #expect(reading.report.warnings.map(\.text) == [warning])
        #expect(reading.entries(key).first == "ignored: replaced by line \(line + 1)")
    }

    @Test(arguments: ["Address", "DNS", "PreUp", "PostUp", "PreDown", "PostDown"])
    func `an empty list of the interface is left out with a warning`(key: String) throws {
        let reading = try Reading(Sample.file(interface: "\(key) ="))
        #expect(reading.configuration == (try Reading(Sample.file()).configuration))
        #expect(reading.entries(key) == ["warning: has no value and is left out"])
    }

    @Test func `empty allowed IPs are left out with a warning, and the export has no such line`() throws {
        let reading = try Reading(Sample.file(peer: "AllowedIPs = # nothing yet"))
        #expect(reading.configuration.peers[0].allowedIPs.isEmpty)
        #expect(reading.entries("AllowedIPs") == ["warning: has no value and is left out"])
        #expect(!ConfigurationWriter.text(of: reading.configuration).contains("AllowedIPs"))
    }

    @Test(arguments: ["PrivateKey", "ListenPort", "MTU", "Table", "FwMark", "SaveConfig"])
    func `an empty single value is an error`(key: String) {
        let message = "line 3, column \(key.utf8.count + 3): \(key): has no value. Write one, or leave out the line."
        #expect(errors(of: Sample.file(interface: "\(key) =")) == [message])
    }

    @Test(arguments: ["PublicKey", "PresharedKey", "Endpoint", "PersistentKeepalive"])
    func `an empty single value of a peer is an error`(key: String) {
        let message = "line 6, column \(key.utf8.count + 3): \(key): has no value. Write one, or leave out the line."
        #expect(errors(of: Sample.file(peer: "\(key) =")) == [message])
    }

    @Test func `empty items of lists are left out with a warning`() throws {
        let reading = try Reading(
            Sample.file(interface: "Address = ,10.0.0.2/24,\nDNS = 10.0.0.1,,10.0.0.2", peer: "AllowedIPs = ::/0,,")
        )
        #expect(reading.configuration.addresses.count == 1)
        #expect(reading.configuration.dns.servers.count == 2)
        #expect(reading.configuration.peers[0].allowedIPs == [.allIPv6])
        #expect(
            reading.report.warnings.map(\.text) == [
                "has 2 empty items, left out", "has 1 empty item, left out", "has 2 empty items, left out",
            ]
        )
    }

    @Test func `several interface sections are merged with a warning that names both lines`() throws {
        let reading = try Reading(
            Sample.file(interface: "MTU = 1400", peer: "AllowedIPs = ::/0")
                + "[Interface]\nMTU = 1500\nListenPort = 7\n"
        )
        #expect(reading.configuration.mtu == 1500)
        #expect(reading.configuration.listenPort == 7)
        #expect(
            reading.report.warnings.map(\.description) == [
                "line 7: warning: this [Interface] is merged with the one on line 1",
                "line 8: MTU: warning: stands on line 3 already; this one on line 8 counts",
            ]
        )
    }

    @Test func `an interface alone is a whole file`() throws {
        let reading = try Reading(Sample.file())
        #expect(reading.configuration == WireGuardConfiguration(privateKeyReference: "new:private-key"))
        #expect(reading.report.secretsSummary == "1 private key moved to the keychain")
    }

    // MARK: Values

    @Test func `allowed IPs with host bits are used as their network, kept as typed, and warned of once`() throws {
        let reading = try Reading(Sample.file(peer: "AllowedIPs = 10.11.0.2/16, fd00::5/64, 10.0.0.0/24"))
        let peer = reading.configuration.peers[0]
        #expect(peer.networks.map(\.description) == ["10.11.0.0/16", "fd00::/64", "10.0.0.0/24"])
        #expect(peer.allowedIPs.map(\.description) == ["10.11.0.2/16", "fd00::5/64", "10.0.0.0/24"])
        #expect(
            reading.report.warnings.map(\.text) == [
                "10.11.0.2/16 has host bits; it is used as 10.11.0.0/16 and exported as typed",
                "fd00::5/64 has host bits; it is used as fd00::/64 and exported as typed",
            ]
        )
        #expect(ConfigurationWriter.text(of: reading.configuration).contains("AllowedIPs = 10.11.0.2/16, fd00::5/64"))
    }

    @Test func `a prefix without a length is a single host, and what is rewritten is reported`() throws {
        let reading = try Reading(
            Sample.file(interface: "Address = 10.0.0.2", peer: "AllowedIPs = 10.0.0.1, FD00::0001")
        )
        #expect(reading.configuration.addresses.map(\.description) == ["10.0.0.2/32"])
        #expect(reading.configuration.peers[0].allowedIPs.map(\.description) == ["10.0.0.1/32", "fd00::1/128"])
        #expect(reading.entries("Address") == ["changed: written as 10.0.0.2/32"])
        #expect(reading.entries("AllowedIPs") == ["changed: written as 10.0.0.1/32, fd00::1/128"])
    }

    @Test func `a pre-shared key of zeros means none, with a warning`() throws {
        let zeros = String(repeating: "A", count: 43)
        let reading = try Reading(Sample.file(peer: "PresharedKey = \(zeros)=\nAllowedIPs = ::/0"))
        #expect(reading.configuration.peers[0].presharedKeyReference == nil)
        #expect(reading.report.presharedKeys == 0)
        #expect(reading.report.warnings.map(\.text) == ["is all zeros, which means none: taken as none"])
    }

    @Test func `what is of the loopback is taken, and warned of`() throws {
        let reading = try Reading(
            Sample.file(
                interface: "Address = 127.0.0.1/8, ::1/128, 10.0.0.1/24",
                peer: "AllowedIPs = 127.1.0.0/16, ::1/128, 0.0.0.0/0, 126.0.0.0/7"
            )
        )
        #expect(reading.configuration.addresses.count == 3 && reading.configuration.peers[0].allowedIPs.count == 4)
        #expect(
            reading.report.warnings.map(\.text) == [
                "127.0.0.1/8 is of the loopback, which never goes through a tunnel",
                "::1/128 is of the loopback, which never goes through a tunnel",
                "127.1.0.0/16 is of the loopback, which never goes through a tunnel",
                "::1/128 is of the loopback, which never goes through a tunnel",
            ]
        )
    }

    @Test func `a peer with the file's own public key is warned of`() throws {
        let own = try #require(WireGuardPublicKey(Sample.peers[0]))
        let file = Array(Sample.file(peer: "AllowedIPs = ::/0").utf8)
        let result = try ConfigurationReader.read(file) { key in
            let bytes = (0..<key.byteCount).map { unsafe key.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
            return bytes == Sample.bytes(Sample.privateKey) ? own : nil
        }
        #expect(
            result.report.warnings.map(\.description) == [
                "line 5: PublicKey: warning: belongs to this file's own PrivateKey: a tunnel to oneself never connects"
            ]
        )
    }

    @Test(
        arguments: [
            ("off", 0), ("OFF", 0), ("0", 0), ("51820", 51820), ("0xca6c", 51820), ("0XCA6C", 51820),
            ("0xffffffff", .max),
        ] as [(String, UInt32)]
    )
    func `a mark is decimal, hexadecimal or off`(text: String, mark: UInt32) throws {
        #expect(try Reading(Sample.file(interface: "FwMark = \(text)")).configuration.firewallMark == mark)
    }

    @Test(arguments: ["255", "0xff", "local", "0", "-1", "-main", "4294967296", "a/b"])
    func `a table that no tunnel's routes can go into is refused`(text: String) {
        let refused = errors(of: Sample.file(interface: "Table = \(text)"))
        #expect(refused.count == 1 && refused[0].hasPrefix("line 3, column 9: Table: "), "\(refused)")
        let isLocal = ["255", "0xff", "local"].contains(text)
        #expect(refused.first?.contains("this machine's own addresses") == isLocal)
    }

    @Test func `the kernel's own table is refused in JSON, too`() {
        for table in [255, "255", "local", 0, -1, 4_294_967_296] as [JSONValue] {
            let errors = WireGuardConfiguration.validate(["privateKeyReference": "new:private-key", "table": table])
            #expect(errors.map(\.field) == ["table"], "\(table)")
        }
    }

    @Test(
        arguments: [
            ("off", .off), ("AUTO", .auto), ("1", .number(1)), ("0xFE", .number(254)), ("4294967295", .number(.max)),
            ("main", .name("main")), ("vpn-table_2", .name("vpn-table_2")),
        ] as [(String, RoutingTable)]
    )
    func `a table is off, auto, a number or a name`(text: String, table: RoutingTable) throws {
        #expect(try Reading(Sample.file(interface: "Table = \(text)")).configuration.table == table)
    }

    @Test(arguments: [("0", 0), ("off", 0), ("Off", 0), ("25", 25), ("65535", 65535)] as [(String, UInt16)])
    func `a keepalive is seconds or off`(text: String, seconds: UInt16) throws {
        let configuration = try Reading(Sample.file(peer: "PersistentKeepalive = \(text)")).configuration
        #expect(configuration.peers[0].persistentKeepalive == seconds)
    }

    @Test(arguments: [("576", nil), ("65535", nil), ("1280", "fd00::1/64")] as [(String, String?)])
    func `an MTU is taken at its bounds`(text: String, address: String?) throws {
        let lines = "MTU = \(text)\n" + (address.map { "Address = \($0)" } ?? "")
        #expect(try Reading(Sample.file(interface: lines)).configuration.mtu == Int(text))
    }

    @Test func `hooks keep their text whole, in order`() throws {
        let lines = "PostUp = a # b ; c = [Peer] \"ü\"  \npreup=\td\nPostUp = e"
        let hooks = try Reading(Sample.file(interface: lines)).configuration.hooks
        #expect(hooks.map(\.command) == ["a # b ; c = [Peer] \"ü\"", "d", "e"])
        #expect(hooks.map(\.event) == [.postUp, .preUp, .postUp])
    }
}
