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
}
