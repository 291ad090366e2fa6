import ControlAPI
import FoundationEssentials
import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct ConfigurationJSONTests {
    private static let reference: JSONValue = "new:private-key"
    private static let key = JSONValue.string(Sample.peers[0])
    private static let otherKey = JSONValue.string(Sample.peers[1])

    /// A configuration with one member changed.
    private static func with(_ member: String, _ value: JSONValue) -> JSONValue {
        .object(["privateKeyReference": reference, member: value])
    }

    private static func withPeer(_ member: String, _ value: JSONValue) -> JSONValue {
        with("peers", [.object(["publicKey": key, member: value])])
    }

    @Test func `the least configuration has only a reference`() throws {
        let configuration = try WireGuardConfiguration(json: ["privateKeyReference": "new:private-key"])
        #expect(configuration == WireGuardConfiguration(privateKeyReference: "new:private-key"))
    }

    @Test func `members have the names of the design`() throws {
        let json = try Reading(Sample.whole).configuration.json
        #expect(json["privateKeyReference"] == "new:private-key")
        #expect(json["addresses"] == ["10.0.0.2/24", "fd00::2/64"])
        #expect(
            json["dns"] == [
                "servers": ["10.0.0.1"], "searchDomains": ["corp.example"], "routeOnlyDomains": ["lab.example"],
            ]
        )
        #expect(json["mtu"] == 1420)
        #expect(json["listenPort"] == 51820)
        #expect(json["table"] == "off")
        #expect(json["firewallMark"] == 0x1234)
        #expect(json["saveConfig"] == true)
        #expect(json["hooks"]?.array?.first == ["event": "PreUp", "command": "echo one # two"])
        #expect(
            json["peers"]?.array?.first == [
                "publicKey": .string(Sample.peers[0]), "presharedKeyReference": "new:preshared-key-1",
                "endpoint": "vpn.example.com:51820", "allowedIPs": ["0.0.0.0/0", "::/0"], "persistentKeepalive": 25,
            ]
        )
    }

    @Test func `null means that a member is absent`() throws {
        let json = Self.with("peers", [["publicKey": Self.key, "endpoint": .null]])
        #expect(try WireGuardConfiguration(json: json).peers[0].endpoint == nil)
        #expect(try WireGuardConfiguration(json: Self.with("mtu", .null)).mtu == nil)
    }

    @Test(
        arguments: [("off", .off), ("auto", .auto), (7, .number(7)), ("7", .number(7)), ("main", .name("main"))]
            as [(JSONValue, RoutingTable)]
    )
    func `a table is a number or a word`(value: JSONValue, table: RoutingTable) throws {
        #expect(try WireGuardConfiguration(json: Self.with("table", value)).table == table)
    }

    private static let members =
        "privateKeyReference, addresses, excludedRoutes, dns, mtu, disabledOffloads, listenPort, table, firewallMark, "
        + "saveConfig, hooks, peers"
    private static let offloads =
        "tun-segmentation, tun-coalescing, udp-segmentation, udp-coalescing, batches, intel-ipsec-mb"
    private static let prefix = "expected an address with a prefix length, such as 10.0.0.0/24."

    private static let faults: [(JSONValue, String)] = [
        ([], "The configuration is an array; expected an object with the members \(members)."),
        (.object([:]), "privateKeyReference is missing; expected a reference to a keychain item."),
        (["privateKeyReference": 5], "privateKeyReference is a number; expected a reference to a keychain item."),
        (
            ["privateKeyReference": ""],
            "privateKeyReference doesn't have 1 to 256 characters; expected a reference to a keychain item."
        ),
        (
            ["privateKeyReference": "a b"],
            "privateKeyReference has a blank, a control character or a character beyond ASCII; "
                + "expected a reference to a keychain item."
        ),
        (with("adresses", []), "adresses is unknown; expected one of \(members). Did you mean addresses?"),
        (
            with("addresses", "10.0.0.2/24"),
            "addresses is a string; expected an array of addresses with prefix lengths."
        ),
        (with("addresses", ["10.0.0.2/24", 5]), "addresses[1] is a number; \(prefix)"),
        (
            with("addresses", ["10.0.0.2/33"]),
            "addresses[0] \"10.0.0.2/33\" has a length that isn't a number from 0 to 32; \(prefix) "
                + "Write it as 10.0.0.2/24, for example."
        ),
        (
            with("addresses", ["224.0.0.1/4"]),
            "addresses[0] 224.0.0.1 is a multicast address, which no interface can have; \(prefix)"
        ),
        (
            with("excludedRoutes", "10.0.0.0/8"),
            "excludedRoutes is a string; expected an array of addresses with prefix lengths."
        ),
        (
            with("disabledOffloads", "gro"),
            "disabledOffloads is a string; expected an array of names of offloads."
        ),
        (
            with("disabledOffloads", ["batches", "gro"]),
            "disabledOffloads[1] is none of \(offloads); expected some of \(offloads)."
        ),
        (
            with("dns", ["10.0.0.1"]),
            "dns is an array; expected an object with the members servers, searchDomains, routeOnlyDomains, "
                + "dnsOverTLS, dnssec."
        ),
        (
            with("dns", ["servers": ["example.com"]]),
            "dns.servers[0] \"example.com\" is neither an IPv4 nor an IPv6 address; "
                + "expected the address of a DNS server, such as 10.0.0.1."
        ),
        (
            with("dns", ["searchDomains": ["1.1.1.1"]]),
            "dns.searchDomains[0] \"1.1.1.1\" is no domain; expected a domain, such as corp.example."
        ),
        (
            with("dns", ["routeOnlyDomains": ["~a.b"]]),
            "dns.routeOnlyDomains[0] \"~a.b\" is no name: it may have letters, digits, dots, and hyphens inside; "
                + "expected a domain without ~, such as corp.example, or . for all names."
        ),
        (with("mtu", 575), "mtu is 575; expected a whole number from 576 to 65535."),
        (with("mtu", "1420"), "mtu is a string; expected a whole number from 576 to 65535."),
        (with("mtu", .double(1420.5)), "mtu is not a whole number; expected a whole number from 576 to 65535."),
        (with("mtu", true), "mtu is a boolean; expected a whole number from 576 to 65535."),
        (
            ["privateKeyReference": "r", "mtu": 1279, "addresses": ["fd00::1/64"]],
            "mtu 1279 is below 1280, the least that IPv6 works with; expected an MTU that fits the addresses. "
                + "Raise it, or leave out the IPv6 addresses."
        ),
        (with("listenPort", 65536), "listenPort is 65536; expected a whole number from 0 to 65535."),
        (with("table", 0), "table is 0; expected a whole number from 1 to 4294967295."),
        (with("table", []), "table is an array; expected off, auto, a table's number or its name."),
        (with("firewallMark", -1), "firewallMark is -1; expected a whole number from 0 to 4294967295."),
        (with("saveConfig", "yes"), "saveConfig is a string; expected true or false."),
        (with("hooks", [["event": "PostUp"]]), "hooks[0].command is missing; expected one line of text."),
        (
            with("hooks", [["event": "OnUp", "command": "x"]]),
            "hooks[0].event is \"OnUp\"; expected PreUp, PostUp, PreDown or PostDown."
        ),
        (
            with("hooks", [["event": "PostUp", "command": "a\nb"]]),
            "hooks[0].command has a control character at byte 2 of the command; expected one line of text. Remove it."
        ),
        (
            with("peers", [5]),
            "peers[0] is a number; expected an object with the members publicKey, presharedKeyReference, "
                + "endpoint, allowedIPs, persistentKeepalive."
        ),
        (
            with("peers", [.object([:])]),
            "peers[0].publicKey is missing; expected a public key: 32 bytes as 44 characters of base64."
        ),
        (
            withPeer("endpoint", "::1:5"),
            "peers[0].endpoint has more than one colon outside brackets; expected a host and a port, such as "
                + "vpn.example.com:51820. Write an IPv6 address in brackets, as in [2001:db8::1]:51820."
        ),
        (
            withPeer("allowedIPs", ["x"]),
            "peers[0].allowedIPs[0] \"x\" is neither an IPv4 nor an IPv6 address; \(prefix)"
        ),
        (
            withPeer("persistentKeepalive", "off"),
            "peers[0].persistentKeepalive is a string; expected a whole number from 0 to 65535."
        ),
        (
            with("peers", [["publicKey": key], ["publicKey": key]]),
            "peers[1].publicKey is the same as peers[0].publicKey; expected a key that no other peer has."
        ),
        (
            with(
                "peers",
                [
                    ["publicKey": key, "allowedIPs": ["10.1.0.0/16"]],
                    ["publicKey": otherKey, "allowedIPs": ["::/0", "10.1.2.3/16"]],
                ]
            ),
            "peers[1].allowedIPs[1] 10.1.0.0/16 also stands at peers[0]; expected a network that no other peer has."
        ),
    ]

    @Test(arguments: faults)
    func `a fault is told with its field, its cause and what should stand there`(json: JSONValue, message: String) {
        #expect(WireGuardConfiguration.validate(json).map(\.description) == [message])
        #expect(throws: FieldErrors.self) { try WireGuardConfiguration(json: json) }
    }

    @Test func `all faults are told at once`() {
        let json: JSONValue = [
            "privateKeyReference": 1, "addresses": ["x", "10.0.0.2/24", "y"], "mtu": 1, "colour": "red",
            "peers": [["publicKey": "short"], ["endpoint": "vpn"]],
        ]
        #expect(
            WireGuardConfiguration.validate(json).map(\.field) == [
                "colour", "privateKeyReference", "addresses[0]", "addresses[2]", "mtu", "peers[0].publicKey",
                "peers[1].publicKey", "peers[1].endpoint",
            ]
        )
    }

    @Test func `of very many faults the first thousand are told`() {
        let json = Self.with("addresses", .array(Array(repeating: "x", count: 3000)))
        #expect(WireGuardConfiguration.validate(json).count == FieldErrors.maximum)
    }

    @Test func `decoding refuses what validating refuses, with all faults`() throws {
        let data = Data(#"{"privateKeyReference": "r", "mtu": 1, "listenPort": -1}"#.utf8)
        let error = try #require(throws: FieldErrors.self) {
            try JSONDecoder().decode(WireGuardConfiguration.self, from: data)
        }
        #expect(error.errors.map(\.field) == ["mtu", "listenPort"])
    }

    @Test func `the references of a configuration are those of its private key and its peers`() throws {
        let configuration = try Reading(Sample.whole).configuration
        #expect(configuration.secretReferences == ["new:private-key", "new:preshared-key-1", "new:preshared-key-2"])
    }
}
