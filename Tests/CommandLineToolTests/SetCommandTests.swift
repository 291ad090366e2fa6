import ControlAPI
import Synchronization
import Testing

@testable import CommandLineTool

/// `set`, `enable` and `disable`.
@Suite struct SetCommandTests {
    private func fake() async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update { $0.configurations = [Samples.configuration()] }
        return fake
    }

    @Test(
        arguments: [
            ("enabled=no", "enabled", false), ("exclusive=true", "exclusive", true),
            ("startAtBoot=off", "startAtBoot", false),
            ("includeAllNetworks=YES", "includeAllNetworks", true),
            ("excludeLocalNetworks=1", "excludeLocalNetworks", true),
            ("enforceRoutes=on", "enforceRoutes", true), ("persistentBlock=true", "persistentBlock", true),
            ("disconnectOnSleep=true", "disconnectOnSleep", true),
            ("serverAddress=vpn.example", "serverAddress", "vpn.example"),
            ("username=eva", "username", "eva"), ("name=a=b", "name", "a=b"),
            ("onDemand.enabled=true", "onDemand", ["enabled": true, "rules": []]),
            (
                #"onDemand.rules=[{"action":"connect"},{"action":"ignore"}]"#, "onDemand",
                ["enabled": false, "rules": [["action": "connect"], ["action": "ignore"]]]
            ), ("owner.application=org.example.app", "owner", ["user": 0, "application": "org.example.app"]),
        ] as [(String, String, JSONValue)]
    )
    func `every key of a configuration can be set`(setting: String, key: String, value: JSONValue) async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("set", "home", setting, socket: fake.socket)
        #expect(ran.code == .done, "\(ran.errors)")
        let save = try #require(fake.update { $0.saves }.first)
        #expect(save.generation == 7)
        #expect(try JSONValue(encoding: save.configuration)[key] == value)
        await fake.stop()
    }

    @Test func `the provider's keys are typed, lists take commas or JSON, and peers have places`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl(
            "set",
            "home",
            "provider.configuration.mtu=1400",
            "provider.configuration.dns.servers=10.0.0.1, fd00::1",
            #"provider.configuration.addresses=["10.20.0.9/24"]"#,
            "provider.configuration.peers[0].persistentKeepalive=25",
            "provider.configuration.peers.0.presharedKeyReference=",
            "provider.configuration.table=off",
            #"provider.configuration.peers[1]={"publicKey":"k","allowedIPs":[]}"#,
            "provider.configuration.peers[1].endpoint=[fd00::2]:51820",
            socket: fake.socket
        )
        #expect(ran.code == .done, "\(ran.errors)")
        let saved = try #require(fake.update { $0.saves }.first?.configuration.provider?.configuration)
        #expect(saved["mtu"] == 1400 && saved["table"] == "off")
        #expect(saved["dns"] == ["servers": ["10.0.0.1", "fd00::1"]])
        #expect(saved["addresses"] == ["10.20.0.9/24"])
        let peers = try #require(saved["peers"]?.array)
        #expect(peers[0]["persistentKeepalive"] == 25 && peers[0]["presharedKeyReference"] == nil)
        #expect(peers[0]["endpoint"] == "vpn.example.org:51820")
        #expect(peers[1] == ["publicKey": "k", "allowedIPs": [], "endpoint": "[fd00::2]:51820"])
        #expect(ran.output.contains("provider.configuration.mtu: unset → 1400"))
        await fake.stop()
    }

    @Test(
        arguments: [
            ("includeAllNetwork=true", "There is no key \"includeAllNetwork\".", "Did you mean includeAllNetworks?"),
            ("onDemand.enable=true", "There is no key \"onDemand.enable\".", "Did you mean onDemand.enabled?"),
            ("mtu=1400", "There is no key \"mtu\".", "Did you mean provider.configuration.mtu?"),
            (
                "provider.configuration.peers[0].endpont=x:1",
                "There is no key \"provider.configuration.peers[0].endpont\".",
                "Did you mean provider.configuration.peers[0].endpoint?"
            ), ("enabled=maybe", "enabled can't hold that.", "enabled takes true or false."),
            (
                "provider.configuration.mtu=big", "provider.configuration.mtu can't hold that.",
                "provider.configuration.mtu takes a whole number, or nothing to unset it."
            ), ("generation=3", "generation can't be set: tunneld gives it.", nil),
            ("enabled.x=1", "There is nothing below enabled.", "enabled takes true or false."),
            (
                "provider.configuration.peers[5].endpoint=x:1",
                "provider.configuration.peers[5].endpoint is beyond the end.",
                "There are 1; the next one that can be added has the index 1."
            ), ("enabled", "\"enabled\" is no setting.", nil), ("a..b=1", "\"a..b\" is no key.", nil),
            ("peers[-1]=1", "\"peers[-1]\" is no key.", nil),
        ] as [(String, String, String?)]
    )
    func `a key or value that can't be is refused with the nearest, and nothing is saved`(
        setting: String,
        message: String,
        hint: String?
    ) async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("set", "home", "enabled=true", setting, socket: fake.socket)
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors.contains("tunnelctl: \(message)"), "\(ran.errors)")
        if let hint { #expect(ran.errors.contains("do: \(hint)"), "\(ran.errors)") }
        #expect(fake.update { $0.saves }.isEmpty)
        await fake.stop()
    }

    @Test func `a value that can't be isn't repeated`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("set", "home", "onDemand.rules=c2VjcmV0", socket: fake.socket)
        #expect(ran.code == .wrongUsage && !(ran.errors + ran.output).contains("c2VjcmV0"))
        await fake.stop()
    }

    @Test(arguments: [("enable", true), ("disable", false)])
    func `enable and disable set one key`(command: String, value: Bool) async throws {
        struct Document: Decodable { let name: String, generation: Int, warnings: [String] }
        let fake = try await fake()
        let ran = await Ran.tunnelctl(command, "home", "--json", socket: fake.socket)
        #expect(fake.update { $0.saves }.first?.configuration.enabled == value)
        let document = try ran.json(Document.self)
        #expect(document.name == "home" && document.generation == 8)
        await fake.stop()
    }

    @Test func `somebody else's save in between isn't overwritten`() async throws {
        let fake = try await fake()
        fake.update {
            $0.onSave = { fake, parameters in
                let isFirst = fake.update { $0.saves.count == 1 }
                guard isFirst else { return .init(identifier: Samples.home, generation: 9, warnings: ["w"]) }
                fake.update {
                    $0.configurations[0].generation = 8
                    $0.configurations[0].username = "eva"
                }
                throw ControlError(.configurationStale, "stale")
            }
        }
        let ran = await Ran.tunnelctl("set", "home", "exclusive=true", socket: fake.socket)
        #expect(ran.code == .done && ran.output.contains("warning: w"))
        let saves = fake.update { $0.saves }
        #expect(saves.map(\.generation) == [7, 8])
        let last = try #require(saves.last).configuration
        #expect(last.username == "eva" && last.exclusive)
        await fake.stop()
    }

    @Test(
        arguments: [
            (
                "type=l2tp", "type", "`l2tp` isn't supported.",
                "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."
            ),
            ("type=PPTP", "type", "`PPTP` isn't supported.", "PPTP has been broken for years."),
        ]
    )
    func `what can't be is told as tunneld tells it`(
        setting: String,
        field: String,
        fault: String,
        remedy: String
    ) async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("set", "home", setting, socket: fake.socket)
        #expect(ran.code != .done && ran.errors.contains(field))
        #expect(ran.errors.contains(fault) && ran.errors.contains(remedy), "\(ran.errors)")
        #expect(fake.update { $0.saves }.isEmpty)
        await fake.stop()
    }

    @Test func `a refusal of tunneld's is told with its field`() async throws {
        let fake = try await fake()
        fake.update {
            $0.errors["Save"] = ControlError(.configurationInvalid, "No.", reason: "R", remedy: "M", field: "onDemand")
        }
        let ran = await Ran.tunnelctl("set", "home", "onDemand.enabled=true", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors == "tunnelctl: No.\n  at: onDemand\n  why: R\n  do: M\n")
        await fake.stop()
    }
}
