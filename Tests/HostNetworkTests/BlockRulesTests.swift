import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct BlockRulesTests {
    private func member(_ peers: String..., holds: Bool = true, change: (inout BlockMember) -> Void = { _ in }) throws
        -> BlockMember
    {
        var member = BlockMember(holds: holds, name: "home", owner: 0)
        member.interface = "home-1"
        member.port = 50_000
        for peer in peers { member.permit(try #require(Endpoint(peer))) }
        change(&member)
        return member
    }

    private let links = [
        Link(index: 1, name: "lo", flags: 8, mtu: 65_536), Link(index: 2, name: "eth0", flags: 1, mtu: 1500),
        Link(index: 5, name: "home-1", flags: 1, mtu: 1420, kind: "tun"),
    ]
    private let local = LocalNetworks(links: [
        .init(link: InterfaceIdentity(index: 2, name: "eth0"), prefixes: [IPPrefix("10.1.0.0/16")].compactMap { $0 })
    ])

    private func elements(_ members: [BlockMember]) -> [String: [String]] {
        let sets = BlockContent(members, local: local, links: links).sets.filter { !$0.elements.isEmpty }
        return Dictionary(sets.map { ("\($0.table.rawValue) \($0.name)", $0.elements) }, uniquingKeysWith: { $1 })
    }

    @Test func `a client reaches its peers' addresses and ports, and nothing else`() throws {
        let elements = try elements([member("192.0.2.1:51820", "[fe80::7%3]:443")])
        #expect(
            elements == [
                "inet tunnels": ["\"home-1\""], "inet ports": ["50000"], "netdev ports": ["50000"],
                "inet peers4": ["192.0.2.1 . 51820"], "netdev peers4": ["192.0.2.1 . 51820"],
                "inet peers6": ["fe80::7 . 443"], "netdev peers6": ["fe80::7 . 443"],
            ]
        )
    }

    @Test func `a gateway answers from its own port`() throws {
        let elements = try elements([member { $0.isGateway = true }])
        #expect(elements["inet gateways"] == ["50000"] && elements["netdev gateways"] == ["50000"])
        #expect(elements["inet peers4"] == nil)
    }

    @Test func `name servers are reached only where there are names`() throws {
        #expect(try elements([member()])["inet lookups"] == nil)
        #expect(try elements([member(), member { $0.looksUpNames = true }])["netdev lookups"] == ["53"])
    }

    @Test func `local networks pass where every holder permits it`() throws {
        let permitting = try member { $0.permitsLocalNetworks = true }
        let elements = elements([permitting, try member(holds: false)])
        #expect(elements["inet local4"] == ["10.1.0.0/16", "224.0.0.0/24", "239.0.0.0/8", "255.255.255.255/32"])
        #expect(elements["netdev local6"]?.contains("ff02::/15") == true)
        #expect(try self.elements([permitting, member()])["inet local4"] == nil)
    }

    @Test func `packet sockets are watched on every link but the loopback and the tunnels'`() throws {
        let content = BlockContent([try member()], local: .none, links: links)
        #expect(content.links == [InterfaceIdentity(index: 2, name: "eth0")])
        let script = BlockRules.load(content)
        #expect(script.contains("add chain netdev tunneld link2 { type filter hook egress device \"eth0\""))
        #expect(!script.contains("link1 ") && !script.contains("link5 "))
    }

    @Test func `a change touches the sets and links that differ, and no rule`() throws {
        let before = BlockContent([try member("192.0.2.1:1")], local: .none, links: links)
        #expect(BlockRules.change(from: before, to: before).isEmpty)
        let after = BlockContent(
            [try member("192.0.2.9:1")],
            local: .none,
            links: [
                Link(index: 2, name: "lan0", flags: 1, mtu: 1500), Link(index: 9, name: "new0", flags: 1, mtu: 1500),
            ]
        )
        let script = BlockRules.change(from: before, to: after)
        #expect(script.contains("flush set inet tunneld peers4\nadd element inet tunneld peers4 { 192.0.2.9 . 1 }\n"))
        #expect(!script.contains("peers6") && !script.contains("table"))
        let lines = script.split(separator: "\n").filter { $0.contains("chain") && !$0.contains("rule") }
        #expect(
            lines.map { $0.prefix(39) }
                == [
                    "delete chain netdev tunneld link2", "add chain netdev tunneld link2 { type fi",
                    "add chain netdev tunneld link9 { type fi",
                ].map { $0.prefix(39) }
        )
    }

    @Test(arguments: [("eth0", true), ("wlp2s0.7", true), ("a\"b", false), ("a\\b", false), ("eth*", false)])
    func `a name that nftables can't say is known`(name: String, isSayable: Bool) {
        #expect(BlockRules.canName(name) == isSayable)
    }

    @Test func `frames that carry other links' packets pass only where there are such links`() throws {
        #expect(try elements([member()])["netdev carriers"] == nil)
        let ppp = links + [Link(index: 7, name: "ppp0", flags: 1, mtu: 1492, kind: "ppp")]
        #expect(BlockContent([try member()], local: .none, links: ppp).permissions.carriers == ["0x8863", "0x8864"])
    }

    @Test func `a file for the boot is taken as it is written, and in no other shape`() {
        let good = BootBlock.text(links: ["eth0", "wlan0", "a\"b"])
        let read = BootBlock.read(good)
        #expect(read.links == ["eth0", "wlan0"] && read.fault == nil)
        #expect(BootBlock.read("").fault == "it is empty")
        let rules = BlockRules.load(.nothing)
        let cut = String(good.prefix(good.count - 20))
        for text in [cut, "flush ruleset\n", "# link eth0\n", good + rules, good + "flush ruleset\n", "add" + good] {
            #expect(
                BootBlock.read(text).fault == "its rules aren't those that this version writes",
                "\(text.prefix(40))"
            )
        }
        #expect(BootBlock.read(cut).links == ["eth0", "wlan0"], "what it says of links is right all the same")
        #expect(BootBlock.read("# link x\"; flush ruleset\n").links.isEmpty)
    }

    @Test func `what is from a name server's port comes in for a marked socket alone`() {
        let rules = BlockRules.load(.nothing).split(separator: "\n").filter { $0.contains("sport @lookups") }
        #expect(rules.count == 2)
        #expect(rules.allSatisfy { $0.contains("socket mark & 0x8000000 == 0x8000000 accept") })
    }

    @Test(arguments: [false, true], [false, true]) func `a stricter member takes and gives nothing back`(
        holds: Bool,
        permits: Bool
    ) throws {
        var member = try member(holds: holds) { $0.permitsLocalNetworks = permits }
        let before = member
        var other = BlockMember(holds: false, name: "other", owner: 7)
        other.permitsLocalNetworks = true
        member.tighten(to: other)
        #expect(member == before)
        other = BlockMember(holds: true, name: "other", owner: 7)
        member.tighten(to: other)
        #expect(member.holds && !member.permitsLocalNetworks && member.name == "home" && member.port == 50_000)
    }
}
