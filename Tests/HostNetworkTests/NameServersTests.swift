import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NameServersTests {
    @Test func `resolv.conf is read as resolvers read it`() throws {
        let text = """
            # made by hand
            domain first.example
            nameserver 192.0.2.53
            nameserver fe80::1%eth0
            nameserver nonsense
            nameserver
            search a.example\tb.example ; the rest is a comment
            options edns0 trust-ad
            """
        let found = NameServers(ResolvConf(text))
        #expect(found.servers == [try #require(IPAddress("192.0.2.53")), try #require(IPAddress("fe80::1"))])
        #expect(found.searchDomains == ["a.example", "b.example"])
        #expect(found.routeOnlyDomains.isEmpty)
        #expect(NameServers(ResolvConf("search a\ndomain b")).searchDomains == ["b"], "the last of them counts")
        #expect(NameServers(ResolvConf("")).isEmpty)
    }

    @Test func `networkd's file of a link is read`() throws {
        let text = """
            # This is private data. Do not parse.
            ADMIN_STATE=configured
            DNS=192.0.2.53 2001:db8::53#dns.example 192.0.2.54:5353 [2001:db8::54]:5353%eth0 nonsense
            DOMAINS=corp.example lab.example
            ROUTE_DOMAINS=.
            LLMNR=yes
            """
        let found = NameServers(networkd: text)
        let wanted = ["192.0.2.53", "2001:db8::53", "192.0.2.54", "2001:db8::54"]
        #expect(found.servers.map(\.description) == wanted)
        #expect(found.searchDomains == ["corp.example", "lab.example"])
        #expect(found.routeOnlyDomains == ["."])
    }

    @Test(arguments: [(0, nil), (1, true), (2, false), (3, true), (4, false), (5, nil)] as [(UInt32, Bool?)])
    func `NetworkManager's word on metered links is understood`(_ number: UInt32, _ meaning: Bool?) {
        #expect(MeteredReader.meaning(number) == meaning)
    }
}
