import ControlAPI
import Glibc
import HostNetwork
import Keychain
import LinuxSystem
import Testing

@testable import ControlDaemon

@Suite struct ConfigurationRulesTests {
    private let good = Configuration(
        name: "home",
        owner: .init(user: 0),
        provider: .init(identifier: "org.tunneld.wireguard", configuration: [:])
    )

    @Test func `a plain configuration is good`() throws { try ConfigurationRules.check(good) }

    @Test(
        arguments: [
            ("", "It is empty."), (" home", "It begins or ends with a blank."), ("a\nb", "It has control characters."),
            (
                "91C8A993-5cab-47f9-8427-29b08f624400",
                "It has the form of an identifier, by which configurations are found, too."
            ),
            (
                "ho\u{200B}me",
                "It has invisible characters, or such as turn the direction of writing: ho\\u{200B}me."
            ),
            ("a\u{202E}b", "It has invisible characters, or such as turn the direction of writing: a\\u{202E}b."),
            (String(repeating: "x", count: 256), "It has 256 bytes."),
        ]
    )
    func `a name that can't be shown is refused`(name: String, reason: String) {
        let error = fault { () throws(ControlError) in try ConfigurationRules.checkName(name) }
        #expect(error?.name == .configurationInvalid && error?.field == "name" && error?.reason == reason)
    }

    @Test func `what tunneld doesn't do yet is stored, and told wherever the tunnel is shown`() throws {
        var early = good
        early.includeAllNetworks = true
        early.enforceRoutes = true
        early.persistentBlock = true
        early.disconnectOnSleep = true
        early.excludeLocalNetworks = true
        early.onDemand = .init(enabled: true, rules: [["action": "connect"]])
        try ConfigurationRules.check(early)
        let notes = ConfigurationNotes.notInForce(early)
        #expect(notes.count == 1)
        for key in ["onDemand"] {
            #expect(notes.contains { $0.hasPrefix("\(key) is not in force") }, "\(key)")
        }
        early.includeAllNetworks = false
        #expect(ConfigurationNotes.notInForce(early)[0].hasPrefix("persistentBlock has no effect"))
        #expect(ConfigurationNotes.notInForce(good).isEmpty && ConfigurationNotes.onSave(good).isEmpty)
    }

    @Test func `what is excluded has no effect where everything goes into the tunnel, and that is told`() throws {
        var full = good
        full.provider = Configuration.Provider(
            identifier: "org.tunneld.wireguard",
            configuration: ["excludedRoutes": ["198.51.100.0/24"]]
        )
        #expect(ConfigurationNotes.notInForce(full).isEmpty)
        full.includeAllNetworks = true
        #expect(ConfigurationNotes.notInForce(full).map { $0.hasPrefix("excludedRoutes have no effect") } == [true])
        full.provider?.configuration = ["excludedRoutes": []]
        #expect(ConfigurationNotes.notInForce(full).isEmpty)
        var document = NetworkSettingsDocument(
            addresses: [],
            routes: ["0.0.0.0/0"],
            table: "auto",
            mtu: nil,
            endpoints: [],
            dns: nil
        )
        document.excludedRoutes = ["198.51.100.0/24"]
        for (includesAll, count) in [(false, 1), (true, 0)] {
            var policy = RoutingPolicy(good)
            policy.includesAll = includesAll
            let settings = try TunnelNetworkSettings(
                document,
                policy: policy,
                interface: InterfaceIdentity(index: 7, name: "home"),
                port: nil
            )
            #expect(settings.excludedRoutes.count == count)
        }
    }

    @Test func `a server address that WireGuard doesn't call is a warning, with what to set instead`() throws {
        var wireGuard = good
        wireGuard.name = "my home"
        wireGuard.provider = Configuration.Provider(
            identifier: "org.tunneld.wireguard",
            configuration: ["peers": [["publicKey": "K", "endpoint": "vpn.example.org:51820"]]]
        )
        wireGuard.serverAddress = "vpn.example.org:51820"
        #expect(ConfigurationNotes.onSave(wireGuard).isEmpty)
        var changed = wireGuard
        changed.serverAddress = "other.example.org"
        #expect(
            ConfigurationNotes.onSave(changed, previous: wireGuard) == [
                "serverAddress is only shown: WireGuard calls the endpoints of its peers, which are unchanged. "
                    + "`tunnelctl set 'my home' 'provider.configuration.peers[0].endpoint=other.example.org:51820'` "
                    + "changes the first one's."
            ]
        )
        // It was told when it was set.
        #expect(ConfigurationNotes.onSave(changed, previous: changed).isEmpty)
        // Another provider may well use it.
        changed.provider?.identifier = "org.tunneld.fake"
        #expect(ConfigurationNotes.onSave(changed, previous: wireGuard).isEmpty)
    }

    @Test func `a tunnel without peers says how to add one`() {
        var wireGuard = good
        wireGuard.name = "gate way"
        wireGuard.provider = Configuration.Provider(identifier: "org.tunneld.wireguard", configuration: [:])
        let state = ProviderState(phase: .ready, status: .connected, stage: .settingsApplied)
        #expect(
            ConfigurationNotes.onPeers(wireGuard, state)
                == "It has no peers yet, so nobody can connect and nothing is sent. `tunnelctl edit 'gate way' --conf` adds "
                + "one: a [Peer] with its PublicKey and AllowedIPs."
        )
        #expect(ConfigurationNotes.onPeers(wireGuard, nil) == nil)
        wireGuard.provider?.configuration = ["peers": [["publicKey": "k"]]]
        #expect(
            ConfigurationNotes.onPeers(wireGuard, state)
                == "It has no peers any more: they were removed with `wg set`, for this session alone. `tunnelctl down "
                + "'gate way'` and `tunnelctl up 'gate way'` bring those of the configuration back."
        )
        wireGuard.provider?.identifier = "org.tunneld.fake"
        #expect(ConfigurationNotes.onPeers(wireGuard, state) == nil)
    }

    @Test func `what can't do anything as it stands is a warning`() throws {
        var odd = good
        odd.onDemand.enabled = true
        odd.startAtBoot = true
        odd.enabled = false
        try ConfigurationRules.check(odd)
        #expect(
            ConfigurationNotes.onSave(odd) == [
                "onDemand is switched on and has no rules, so it starts nothing.",
                "startAtBoot does nothing as long as the configuration is disabled.",
            ]
        )
    }

    @Test(arguments: [
        "..", "all", "lo", "Büro (2. Stock)", "a/b", "خانه", "👩\u{200D}💻", String(repeating: "x", count: 255),
    ])
    func `every other name is taken`(name: String) throws {
        try ConfigurationRules.checkName(name)
    }

    @Test(
        arguments: [
            (["futureKey": 1], "futureKey", nil), (["enabeld": true], "enabeld", "enabled"),
            (["provider": ["identifer": "x"]], "provider.identifer", "identifier"),
            (["owner": ["user": 0, "group": 1]], "owner.group", nil),
            (["onDemand": ["rulez": []]], "onDemand.rulez", "rules"),
            (
                ["YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=": 1],
                "a member with a name of 44 bytes",
                nil
            ),
        ] as [(JSONValue, String, String?)]
    )
    func `a member that isn't known is refused by its name`(document: JSONValue, field: String, nearest: String?) {
        let error = fault { () throws(ControlError) in try ConfigurationRules.checkMembers(document) }
        #expect(error?.name == .configurationInvalid && error?.field == field)
        if let nearest { #expect(error?.remedy == "Did you mean \(nearest)?") }
    }

    @Test(arguments: [["$data": "c2VjcmV0"], [1, 2], 7, true] as [JSONValue])
    func `a password that isn't a reference is told as such, whatever it is`(password: JSONValue) {
        let document: JSONValue = ["type": "provider", "passwordReference": password]
        let error = fault { () throws(ControlError) in try ConfigurationRules.checkDocument(document) }
        #expect(error?.name == .configurationInvalid && error?.field == "passwordReference")
        #expect(error?.reason?.contains("a secret itself is never kept in a configuration") == true)
    }

    @Test func `the type is judged before a document is read`() throws {
        let error = fault { () throws(ControlError) in try ConfigurationRules.checkDocument(["type": "L2TP/IPsec"]) }
        #expect(error?.field == "type" && error?.remedy?.hasPrefix("L2TP is obsolete.") == true)
        try ConfigurationRules.checkDocument(["type": "provider", "passwordReference": .null])
    }

    @Test func `every member that is written is known`() throws {
        var whole = good
        whole.owner = .init(user: 1, application: "a", profile: "p")
        (whole.serverAddress, whole.username, whole.passwordReference) = ("s", "u", "r")
        try ConfigurationRules.checkMembers(JSONValue(encoding: whole))
        // What is the provider's own is the provider's to judge.
        whole.provider?.configuration = ["anything": ["at": "all"]]
        try ConfigurationRules.checkMembers(JSONValue(encoding: whole))
    }

    @Test func `what is missing or too early is named by its field`() {
        let changes: [(inout Configuration) -> Void] = [
            { $0.version = 2 }, { $0.provider = nil }, { $0.provider?.configuration = "x" },
            { $0.onDemand.rules = ["connect"] }, { $0.owner.profile = "p" },
        ]
        let fields = ["version", "provider", "provider.configuration", "onDemand.rules[0]", "owner.profile"]
        for (change, field) in zip(changes, fields) {
            var bad = good
            change(&bad)
            #expect(fault(bad)?.field == field)
        }
    }

    private func fault(_ configuration: Configuration) -> ControlError? {
        fault { () throws(ControlError) in try ConfigurationRules.check(configuration) }
    }

    private func fault(_ body: () throws(ControlError) -> Void) -> ControlError? {
        do throws(ControlError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct SecretRulesTests {
    private let places = SecretPlaces(keys: ["privateKeyReference", "presharedKeyReference"])
    private let owned = "keychain:0123456789abcdef0123456789abcdef"
    private let gone = "keychain:ffffffffffffffffffffffffffffffff"

    private func configuration(_ content: JSONValue) -> Configuration {
        Configuration(
            name: "home",
            owner: .init(user: 1000),
            provider: .init(identifier: "org.tunneld.wireguard", configuration: content)
        )
    }

    @Test func `places are found at any depth, with their paths`() {
        var it = configuration([
            "privateKeyReference": "a", "mtu": 1, "peers": [["presharedKeyReference": "b"], ["publicKey": "c"]],
            "deep": ["deeper": [["privateKeyReference": .null]]],
        ])
        it.passwordReference = "d"
        #expect(
            places.places(in: it) == [
                .init(field: "passwordReference", value: "d"),
                .init(field: "provider.configuration.peers[0].presharedKeyReference", value: "b"),
                .init(field: "provider.configuration.privateKeyReference", value: "a"),
            ]
        )
        let replaced = places.replacing(in: it) { ["a": "A", "c": "C", "d": "D"][$0] }
        #expect(replaced.passwordReference == "D")
        #expect(replaced.provider?.configuration["privateKeyReference"] == "A")
        #expect(replaced.provider?.configuration["peers"]?.array?[0]["presharedKeyReference"] == "b")
        #expect(replaced.provider?.configuration["peers"]?.array?[1]["publicKey"] == "c")
    }

    @Test func `a placeholder with its secret, and a reference to one's own item, are good`() {
        let content: JSONValue = [
            "privateKeyReference": "new:key", "peers": [["presharedKeyReference": .string(owned)]],
        ]
        #expect(fault(content, ["new:key"]) == nil)
    }

    @Test(arguments: ["c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=", "new:other", "", "keychain:short"])
    func `a text in a reference's place is refused and not shown`(text: String) {
        let error = fault(["peers": [["presharedKeyReference": .string(text)]]], [])
        #expect(error?.name == .configurationInvalid)
        #expect(error?.field == "provider.configuration.peers[0].presharedKeyReference")
        #expect(text.isEmpty || !"\(String(describing: error))".contains(text))
    }

    @Test(arguments: [JSONValue.integer(7), true, ["x"], ["$data": "c2VjcmV0"]])
    func `bytes and other values in a reference's place are refused`(value: JSONValue) {
        #expect(fault(["privateKeyReference": value], [])?.name == .configurationInvalid)
    }

    @Test func `a reference to nothing, or to another user's item, can't be had`() {
        let error = fault(["privateKeyReference": .string(gone)], [])
        #expect(error?.name == .secretUnavailable && error?.field == "provider.configuration.privateKeyReference")
        #expect(error?.reason?.contains("the look-up may have run before the item was written") == true)
        let foreign = fault(["privateKeyReference": .string(owned)], [], owner: 0)
        #expect(foreign?.reason == error?.reason && foreign?.name == .secretUnavailable)
    }

    @Test func `a reference outside of the declared places must be good too`() {
        #expect(fault(["note": .string(gone)], [])?.name == .secretUnavailable)
        #expect(fault(["note": .string(owned)], []) == nil)
    }

    @Test func `an item that can't be read just now holds up no change of its configuration`() {
        let reference = ItemReference(owned)
        let passing: [KeychainError] = [
            .damaged(reference: owned, "x"), .sealedUnderAnotherKey(reference: owned), .locked("x"),
            .unreadable(reference: owned, SystemError(EAGAIN, in: "open")),
        ]
        for error in passing {
            let content: JSONValue = ["privateKeyReference": .string(owned)]
            #expect(fault(content, [], known: Set([reference].compactMap(\.self)), lookUp: error) == nil)
            let refused = fault(content, [], lookUp: error)
            #expect(refused?.name == .secretUnavailable && refused?.remedy == error.remedy)
        }
        let missing = KeychainError.notFound(reference: owned)
        let known = Set([reference].compactMap(\.self))
        #expect(fault(["privateKeyReference": .string(owned)], [], known: known, lookUp: missing) != nil)
        // Switched off, the configuration needs none; but what it didn't have it doesn't get either.
        let off = fault(["privateKeyReference": .string(owned)], [], known: known, isEnabled: false, lookUp: missing)
        #expect(off == nil)
        #expect(fault(["privateKeyReference": .string(owned)], [], isEnabled: false, lookUp: missing) != nil)
    }

    @Test func `secrets and their descriptions must fit each other and the configuration`() {
        #expect(fault(["privateKeyReference": "new:key"], ["new:key"], labels: [])?.name == .invalidParameter)
        #expect(fault(["privateKeyReference": "new:key"], ["new:key"], labels: ["new:key", "x"])?.field == "secrets")
        #expect(fault(["privateKeyReference": "new:key"], ["new:key", "new:key"])?.field == "secrets")
        #expect(fault([:], ["new:key"])?.reason == "It describes a placeholder that the configuration doesn't use.")
    }

    private func fault(
        _ content: JSONValue,
        _ secrets: [String],
        labels: Set<String>? = nil,
        owner: UInt32 = 1000,
        known: Set<ItemReference> = [],
        isEnabled: Bool = true,
        lookUp failure: KeychainError? = nil
    ) -> ControlError? {
        let it = configuration(content)
        do throws(ControlError) {
            try SecretRules.check(
                places.places(in: it),
                secrets: secrets.map { .init(placeholder: $0, kind: .privateKey) },
                labels: labels ?? Set(secrets),
                others: StoreContents.references(in: it),
                known: known,
                isEnabled: isEnabled
            ) { (reference) throws(KeychainError) in
                if let failure { throw failure }
                guard reference.description == owned, owner == 1000 else {
                    throw KeychainError.notFound(reference: reference.description)
                }
            }
            return nil
        } catch {
            return error
        }
    }
}
