import ControlAPI
import HostNetwork
import Testing

@testable import ControlDaemon

@Suite struct BlockPolicyTests {
    private func configuration(_ peers: [JSONValue], user: UInt32 = 0) -> Configuration {
        var configuration = Configuration(
            name: "home",
            owner: Configuration.Owner(user: user),
            provider: .init(identifier: "org.tunneld.wireguard", configuration: ["peers": .array(peers)])
        )
        configuration.identifier = "1"
        configuration.includeAllNetworks = true
        configuration.exclusive = true
        return configuration
    }

    private func member(_ peers: [JSONValue], known: [String] = []) -> BlockMember {
        BlockPolicy.member(configuration(peers), interface: "home-1", port: 50_000, known: known)
    }

    @Test func `literal endpoints pass from the start, names are looked up`() {
        let member = member([
            ["endpoint": "192.0.2.1:51820"], ["endpoint": "[fe80::1%eth0]:443"], ["endpoint": "vpn.example.org:51820"],
        ])
        #expect(member.peers == ["192.0.2.1:51820", "[fe80::1]:443"])
        #expect(member.looksUpNames && !member.isGateway && member.holds && member.port == 50_000)
        #expect(!self.member([["endpoint": "192.0.2.1:51820"]]).looksUpNames)
    }

    @Test func `with a peer that calls us it is a gateway`() {
        #expect(member([["publicKey": "K"]]).isGateway)
        #expect(!member([["endpoint": "192.0.2.1:51820"]]).isGateway && !member([]).isGateway)
    }

    @Test func `what became known passes too, and nothing that is no endpoint`() {
        let member = member([["endpoint": "vpn.example.org:1"]], known: ["192.0.2.7:1", "vpn.example.org:1"])
        #expect(member.peers == ["192.0.2.7:1"])
    }

    @Test func `a nested one's packets pass within the tunnel around it, and only its names are looked up outside`() {
        var configuration = configuration([
            ["endpoint": "192.0.2.1:51820"], ["endpoint": "vpn.example.org:51820"], ["publicKey": "K"],
        ])
        configuration.nestedIn = "outer"
        func member(_ configuration: Configuration) -> BlockMember {
            BlockPolicy.member(configuration, interface: "home-1", port: 50_000, known: ["192.0.2.7:51820"])
        }
        let nested = member(configuration)
        #expect(nested.peers.isEmpty && !nested.isGateway)
        #expect(nested.looksUpNames && nested.holds && nested.interface == "home-1")
        configuration.provider?.configuration = ["peers": [["endpoint": "192.0.2.1:51820"]]]
        #expect(!member(configuration).looksUpNames)
        configuration.nestedIn = nil
        #expect(member(configuration).peers == ["192.0.2.1:51820", "192.0.2.7:51820"])
    }

    @Test func `a name's addresses pass at the ports that stand beside it`() {
        let configuration = configuration([
            ["endpoint": "vpn.example.org:1"], ["endpoint": "vpn.example.org:2"], ["endpoint": "other.example.org:3"],
        ])
        let found = BlockPolicy.endpoints(of: "vpn.example.org", ["192.0.2.7", "fe80::1%3", "junk"], in: configuration)
        #expect(found == ["192.0.2.7:1", "192.0.2.7:2", "[fe80::1]:1", "[fe80::1]:2"])
        #expect(BlockPolicy.endpoints(of: "third.example.org", ["192.0.2.7"], in: configuration).isEmpty)
    }

    @Test func `persistence takes all three`() {
        var configuration = configuration([])
        configuration.persistentBlock = true
        #expect(BlockPolicy.isPersistent(configuration))
        for change in [\Configuration.enabled, \.includeAllNetworks, \.persistentBlock] {
            var other = configuration
            other[keyPath: change] = false
            #expect(!BlockPolicy.isPersistent(other))
        }
    }

    @Test func `the one that switches another off takes its block over`() {
        var holder = configuration([])
        holder.identifier = "2"
        let new = configuration([])
        var disabled = new
        disabled.enabled = false
        #expect(BlockPolicy.takesOver(new, previous: disabled, from: holder))
        #expect(BlockPolicy.takesOver(new, previous: nil, from: holder))
        #expect(!BlockPolicy.takesOver(new, previous: new, from: holder), "it competes already")
        #expect(!BlockPolicy.takesOver(disabled, previous: new, from: holder))
        #expect(!BlockPolicy.takesOver(configuration([], user: 7), previous: nil, from: holder))
    }

    @Test func `a switch that a crash cut short is known by who held the block`() {
        var old = configuration([])
        old.identifier = "old"
        let ran = old
        old.enabled = false
        var new = configuration([])
        new.identifier = "new"
        var other = configuration([], user: 7)
        other.identifier = "other"
        let stored = ["old": old, "new": new, "other": other]
        #expect(BlockPolicy.heirs(of: ["old"], [:], among: stored) == ["new"])
        #expect(BlockPolicy.heirs(of: [], ["old": ran], among: stored) == ["new"])
        #expect(BlockPolicy.heirs(of: [], ["gone": ran], among: ["new": new]) == ["new"])
        #expect(BlockPolicy.heirs(of: ["new"], ["new": new], among: stored) == [])
        #expect(BlockPolicy.heirs(of: [], [:], among: stored) == [])
        old.includeAllNetworks = false
        #expect(BlockPolicy.heirs(of: ["old"], [:], among: ["old": old, "new": new]) == [])
    }
}
