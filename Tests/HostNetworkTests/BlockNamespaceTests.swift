import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

/// What nftables itself makes of our scripts.
@Suite struct BlockNamespaceTests {
    private func content(_ space: Namespace, _ peers: String...) throws -> BlockContent {
        var member = BlockMember(holds: true, name: "home", owner: 0)
        member.interface = "tnet0"
        member.port = 50_000
        member.isGateway = true
        member.looksUpNames = true
        member.permitsLocalNetworks = true
        for peer in peers { member.permit(try #require(Endpoint(peer))) }
        let links = try space.tables.links()
        return BlockContent([member], local: try space.tables.localNetworks(besides: OwnInterfaces()), links: links)
    }

    @Test func `rules are loaded, changed without touching one, and taken away`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            space.ip("addr add 10.3.0.1/16 dev under0")
            // Without it libnftables would end the process where it isn't permitted.
            _ = try BlockWatch()
            let nftables = try NftablesContext()
            let before = try content(space, "192.0.2.1:51820", "[2001:db8::1]:51820")
            try nftables.run(BlockRules.load(before))
            let first = try nftables.list()
            #expect(first.contains("10.3.0.0/16") && first.contains("device \"under0\""))
            try nftables.run(BlockRules.load(before))
            #expect(try nftables.list() != first, "other rules have other handles")

            let second = try nftables.list()
            space.ip("link add new0 type veth peer name new1")
            let after = try content(space, "192.0.2.9:51820")
            try nftables.run(BlockRules.change(from: before, to: after))
            let third = try nftables.list()
            #expect(third.contains("device \"new0\"") && third.contains("192.0.2.9 . 51820"))
            let rules = { (text: String) in Set(text.split(separator: "\n").filter { $0.contains(" # handle ") }) }
            #expect(rules(second).subtracting(rules(third)).isEmpty)

            try nftables.run(BlockRules.remove)
            try nftables.run(BlockRules.remove)
            #expect(try nftables.run("list ruleset").isEmpty)
        }
    }

    @Test func `a script that fails changes nothing, and says why`() async throws {
        try await Namespace.run { _ in
            _ = try BlockWatch()
            let nftables = try NftablesContext()
            try nftables.run("add table inet tunneld")
            let error = #expect(throws: NftablesError.self) {
                try nftables.run("delete table inet tunneld\ndelete table inet nothing")
            }
            #expect(error?.text.contains("No such file or directory") == true)
            #expect(try nftables.run("list tables").contains("inet tunneld"))
        }
    }

    @Test func `changes of our tables are told, those of others' aren't`() async throws {
        try await Namespace.run { space in
            let watch = try BlockWatch()
            let nftables = try NftablesContext()
            try nftables.run(BlockRules.load(.nothing))
            #expect(watch.drainRules() == 1)
            space.nft("add table inet other")
            #expect(watch.drainRules() == 0)
            space.nft("flush chain inet tunneld output")
            space.nft("flush ruleset")
            #expect(watch.drainRules() == 2)
            #expect(watch.drainRules() == 0)
        }
    }
}

extension BlockNamespaceTests {
    @Test func `routes to a link's own network are news, and no others are`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let watch = try BlockWatch()
            space.ip("route add 10.56.0.0/16 dev under0 proto static")
            space.ip("route add 10.57.0.0/16 dev under0 proto kernel table 77")
            space.ip("route add unreachable 10.58.0.0/16")
            #expect(!watch.drainLinks())
            for command in ["add", "del"] {
                space.ip("route \(command) 10.55.0.0/16 dev under0 proto kernel scope link")
                #expect(watch.drainLinks(), "\(command)")
                #expect(!watch.drainLinks())
            }
        }
    }
}

extension Namespace {
    fileprivate func nft(_ command: String) { self.command("nft \(command)") }
}
