import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct PeerEndpointTests {
    @Test(arguments: ["1.2.3.4.:5", "0x7f000001:5", "a.0X10:5", "0x:5", "1.2.3.0x4.:5"])
    func `what a resolver could take for an address is no name`(text: String) {
        let refused = errors(of: Sample.file(peer: "AllowedIPs = ::/0\nEndpoint = \(text)"))
        #expect(refused.count == 1 && refused[0].contains("is neither an IPv4 nor an IPv6 address"), "\(refused)")
    }

    @Test(arguments: [
        "vpn.example.com:51820", "vpn:1", "a.b.c.example.:65535", "my_host.lan:51820", "xn--bcher-kva.example:51820",
        "192.0.2.1:51820", "[2001:db8::1]:51820", "[::1]:1", "[fe80::1%eth0]:51820", "[fe80::1%wlp0s20f3]:51820",
        "1a.example:51820", "3com:51820",
    ])
    func `a good endpoint is kept as it is`(text: String) throws {
        let configuration = try Reading(Sample.file(peer: "Endpoint = \(text)")).configuration
        #expect(configuration.peers[0].endpoint?.description == text)
    }

    @Test func `an endpoint's host is a name or an address with its zone`() throws {
        func host(_ text: String) throws -> PeerEndpoint.Host? {
            try Reading(Sample.file(peer: "Endpoint = \(text)")).configuration.peers[0].endpoint?.host
        }
        let local = IPAddress.v6(IPv6Address(high: 0xfe80 << 48, low: 1))
        #expect(try host("VPN.example.com:1") == .name("VPN.example.com"))
        #expect(try host("192.0.2.1:1") == .address(.v4(IPv4Address(192, 0, 2, 1)), zone: nil))
        #expect(try host("[FE80::1%eth0]:1") == .address(local, zone: "eth0"))
    }

    @Test func `a link-local address without a zone is warned of`() throws {
        let reading = try Reading(Sample.file(peer: "Endpoint = [fe80::1]:51820\nAllowedIPs = ::/0"))
        #expect(
            reading.report.warnings.map(\.text) == ["is link-local without a zone; write it as in [fe80::1%eth0]:51820"]
        )
    }

    private static let rule = "Write host:port, such as vpn.example.com:51820."

    @Test(arguments: [
        ("http://vpn.example.com:51820", "begins like a web address. Leave out what stands before the host. \(rule)"),
        ("udp://192.0.2.1:51820", "begins like a web address. Leave out what stands before the host. \(rule)"),
        ("192.0.2.1/24:51820", "has a prefix length. Leave out the / and its number. \(rule)"),
        ("192.0.2.1:51820/24", "has a prefix length. Leave out the / and its number. \(rule)"),
        ("vpn.example.com:51820/", "has a /. Leave out the / and what follows. \(rule)"),
        ("vpn.example.com", "\"vpn.example.com\" has no port. \(rule)"),
        ("192.0.2.1", "\"192.0.2.1\" has no port. \(rule)"),
        ("[2001:db8::1]", "\"[2001:db8::1]\" has no port. \(rule)"),
        ("vpn.example.com:", "has no port behind its colon. \(rule)"),
        (":51820", "has no host before its colon. \(rule)"),
        ("[]:51820", "has \"\" in brackets, which is no IPv6 address."),
        ("[2001:db8::1:51820", "has a [ without its ]. Write [IPv6 address]:port."),
        ("[192.0.2.1]:51820", "has an IPv4 address in brackets. Brackets are for IPv6: leave them out."),
        ("[vpn.example]:51820", "has \"vpn.example\" in brackets, which is no IPv6 address."),
        ("vpn.example.com 51820", "has a blank inside. \(rule)"),
        ("user@vpn.example.com:51820", "has an @. Leave out the user name. \(rule)"),
        ("192.0.2.300:51820", "\"192.0.2.300\" has a number above 255."),
        ("1.2.3:51820", "\"1.2.3\" is neither an IPv4 nor an IPv6 address."),
        ("0.0.0.0:51820", "0.0.0.0 is the unspecified address, where no peer can be."),
        ("[ff02::1]:51820", "ff02::1 is a multicast address, where no peer can be."),
        (
            "[2001:db8::1%eth0]:1",
            "has a zone behind an address that isn't link-local. Leave out the % and what follows."
        ),
        ("[fe80::1%]:1", "has a zone that is no name of an interface. Write it as in [fe80::1%eth0]."),
        ("[fe80::1%a-name-too-long-]:1", "has a zone that is no name of an interface. Write it as in [fe80::1%eth0]."),
        (
            "vpn.example.com:+5",
            "has \"+5\" for its port. A port is a number from 1 to 65535; names of services aren't looked up here."
        ),
    ])
    func `a bad endpoint gets its hint`(text: String, message: String) {
        #expect(errors(of: Sample.file(peer: "Endpoint = \(text)")) == ["line 6, column 12: Endpoint: \(message)"])
    }

    @Test func `an endpoint that could not stand in a file can't be made`() {
        #expect(PeerEndpoint(.name("192.0.2.1"), port: 1) == nil)
        #expect(PeerEndpoint(.name("a b"), port: 1) == nil)
        #expect(PeerEndpoint(.name("vpn"), port: 0) == nil)
        #expect(PeerEndpoint(.address(.v4(.loopback), zone: "eth0"), port: 1) == nil)
        #expect(PeerEndpoint(.address(.v4(.loopback), zone: nil), port: 1)?.description == "127.0.0.1:1")
    }
}
