import FoundationEssentials
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct DNSTests {
    private func link(
        _ search: [String] = [],
        _ routeOnly: [String] = [],
        isFullTunnel: Bool = false,
        servers: [String] = ["10.0.0.1"]
    ) -> LinkDNS {
        let settings = DNSSettings(
            servers: servers.compactMap { IPAddress($0) },
            searchDomains: search,
            routeOnlyDomains: routeOnly
        )
        return LinkDNS(settings, isFullTunnel: isFullTunnel)
    }

    private func domains(_ link: LinkDNS) -> [String] {
        link.domains.map { ($0.isRouteOnly ? "~" : "") + $0.name }
    }

    @Test func `only a full tunnel without domains to match takes all names`() {
        #expect(domains(link(isFullTunnel: true)) == ["~."] && link(isFullTunnel: true).isDefaultRoute)
        #expect(domains(link(["a.b"], isFullTunnel: true)) == ["a.b", "~."])
        #expect(domains(link([], ["a.b"], isFullTunnel: true)) == ["~a.b"])
        #expect(!link([], ["a.b"], isFullTunnel: true).isDefaultRoute)
        #expect(domains(link(["a.b"], ["c.d"])) == ["a.b", "~c.d"] && !link(["a.b"]).isDefaultRoute)
        // Asked beside the others.
        #expect(link().domains.isEmpty && link().isDefaultRoute && !link().takesAllNames)
        #expect(link([], ["."]).takesAllNames && link([], ["."]).isDefaultRoute)
        #expect(domains(link(["a.b"], isFullTunnel: true, servers: [])) == ["a.b"])
        #expect(domains(link(["a.b"], ["a.b"])) == ["a.b"])
    }

    @Test(arguments: [
        (["0.0.0.0/0"], true), (["::/0"], true), (["0.0.0.0/1", "128.0.0.0/1"], true), (["::/1", "8000::/1"], true),
        (["0.0.0.0/1", "8000::/1"], false), (["10.0.0.0/8"], false), ([], false),
    ])
    func `two halves are all of it`(routes: [String], isFull: Bool) {
        var settings = TunnelNetworkSettings(interface: InterfaceIdentity(index: 7, name: "t"))
        settings.routes = routes.compactMap { IPPrefix($0) }
        #expect(settings.isFullTunnel == isFull)
        settings.table = .off
        #expect(!settings.isFullTunnel)
    }

    @Test func `a link is as it shall be whatever the case and the last point of its domains`() {
        let wanted = link(["Corp.Test."], ["lab.test"])
        var found = ResolvedLink()
        found.servers = [IPAddress("10.0.0.1")].compactMap(\.self)
        found.domains = [.init(name: "lab.test", isRouteOnly: true), .init(name: "corp.test", isRouteOnly: false)]
        found.isDefaultRoute = false
        #expect(found.routes(wanted))
        for change: (inout ResolvedLink) -> Void in [
            { $0.servers = [] }, { $0.domains.removeLast() }, { $0.isDefaultRoute = true },
            { $0.domains[0] = .init(name: "lab.test", isRouteOnly: false) },
        ] {
            var other = found
            change(&other)
            #expect(!other.routes(wanted))
        }
        // An old version doesn't tell.
        found.isDefaultRoute = nil
        #expect(found.routes(wanted))
    }

    @Test func `modes that differ from what was set are told`() {
        var found = ResolvedLink()
        #expect(found.differences(from: link()).isEmpty)
        (found.overTLS, found.validation) = ("no", "no")
        #expect(found.differences(from: link()).isEmpty)
        found.overTLS = "yes"
        #expect(found.differences(from: link()).first?.hasPrefix("DNS-over-TLS is yes") == true)
        found.validation = "allow-downgrade"
        #expect(found.differences(from: link()).last?.hasPrefix("DNSSEC is allow-downgrade") == true)
    }

    @Test func `programs ask systemd-resolved by its file or its address alone`() {
        let path = "/etc/resolv.conf"
        func reason(_ content: FileContent, _ text: String?) -> String? {
            DNSEffect.obstacleToResolved(content, text.map { ResolvConf($0) }, path: path)
        }
        let file = FileContent.file(.init(data: .init(), mode: 0o644, user: 0, group: 0))
        #expect(reason(.link(target: "/run/systemd/resolve/stub-resolv.conf"), "nameserver 127.0.0.53") == nil)
        #expect(reason(file, "nameserver 127.0.0.54\n") == nil)
        #expect(reason(.missing, nil)?.contains("there is no /etc/resolv.conf") == true)
        let uplink = reason(.link(target: "../run/systemd/resolve/resolv.conf"), "nameserver 192.0.2.1")
        #expect(uplink?.contains("ask the servers of all links directly") == true)
        #expect(reason(.link(target: "/nowhere"), nil)?.contains("can't be read") == true)
        #expect(reason(file, "nameserver 127.0.0.53\nnameserver 192.0.2.1")?.contains("plain file") == true)
        #expect(reason(file, "")?.contains("127.0.0.1, for want of another") == true)
    }

    @Test func `a tunnel's server counts when it is the first`() {
        func reason(_ text: String) -> String? {
            DNSEffect.obstacle(to: link(), ResolvConf(text), path: "/etc/resolv.conf")
        }
        #expect(reason("nameserver 10.0.0.1\nnameserver 192.0.2.1") == nil)
        #expect(reason("nameserver 127.0.0.1") == nil)
        #expect(reason("nameserver 192.0.2.1\nnameserver 10.0.0.1")?.contains("names 192.0.2.1 ahead of") == true)
        #expect(reason("nameserver 192.0.2.1")?.contains("none of the tunnel's servers") == true)
    }
}

@Suite struct PushLimiterTests {
    private let start = Instant.zero + .seconds(1000)

    @Test func `now and then it is done at once`() {
        var limiter = PushLimiter()
        for number in 0..<15 { #expect(limiter.decide(start + .seconds(3 * number)) == .now) }
        #expect(!limiter.isFought(start + .seconds(45)))
    }

    @Test func `a fight is not fought`() {
        var limiter = PushLimiter()
        var pushes = 0
        for tenths in 0..<6000 where limiter.decide(start + .milliseconds(100 * tenths)) == .now { pushes += 1 }
        // Ten minutes: twice 20.
        #expect(pushes == 40)
        #expect(limiter.isFought(start + .seconds(600)) && !limiter.isFought(start + .seconds(661)))
    }

    @Test func `it tells when its turn comes again`() {
        var limiter = PushLimiter()
        #expect(limiter.decide(start) == .now)
        #expect(limiter.decide(start + .milliseconds(50)) == .at(start + .milliseconds(200)))
        for second in 1...4 { #expect(limiter.decide(start + .seconds(second)) == .now) }
        #expect(limiter.decide(start + .seconds(5)) == .at(start + .seconds(10)))
        #expect(limiter.decide(start + .seconds(10)) == .now)
    }
}

@Suite struct UnderlayResolversTests {
    private let servers = [
        (link: UInt32(2), server: "192.0.2.1:53"), (3, "192.0.2.2:53"), (4, "192.0.2.3:53"), (9, "10.0.0.1:53"),
        (0, "192.0.2.9:53"),
    ].map { ($0.link, Endpoint($0.server) ?? Endpoint(.v4(.loopback), port: 1)) }

    private func link(_ index: UInt32, _ domains: [String] = [], isDefault: Bool = true) -> UnderlayResolvers.Link {
        .init(index: index, domains: domains.map { .init(name: $0, isRouteOnly: false) }, isDefaultRoute: isDefault)
    }

    private func asked(_ host: String, _ links: [UnderlayResolvers.Link]) -> [String] {
        UnderlayResolvers(for: host, servers, links) { $0 == 9 }.servers.map(\.description)
    }

    @Test func `a tunnel's servers are asked for nothing`() {
        let links = [link(2), link(3, ["corp.test"], isDefault: false), link(9, ["."]), link(4, isDefault: false)]
        #expect(asked("gateway.test", links) == ["192.0.2.1:53", "192.0.2.9:53"])
        #expect(asked("vpn.corp.test", links) == ["192.0.2.2:53"])
        #expect(asked("CORP.test", links) == ["192.0.2.2:53"])
        #expect(asked("xcorp.test", links) == ["192.0.2.1:53", "192.0.2.9:53"])
        // None that takes any name: whoever there is outside.
        #expect(asked("gateway.test", [link(4, isDefault: false)]).contains("10.0.0.1:53") == false)
        #expect(UnderlayResolvers(for: "a.b", [(9, servers[0].1)], [], isTunnel: { $0 == 9 }).servers.isEmpty)
    }

    @Test func `short names are looked for below the domains of links that are no tunnels`() {
        let found = UnderlayResolvers(for: "x", servers, [link(2, ["lan"]), link(9, ["corp.test"])]) { $0 == 9 }
        #expect(found.searchDomains == ["lan"])
    }

    @Test func `of a file those are left that no tunnel has`() {
        let lines = ResolvConf("search lan\nnameserver 10.0.0.1\nnameserver fe80::1%2\nnameserver 192.0.2.1\n")
        let left = UnderlayResolvers(lines, without: ["10.0.0.1"])?.servers.map(\.description)
        #expect(left == ["[fe80::1%2]:53", "192.0.2.1:53"])
        #expect(UnderlayResolvers(ResolvConf("nameserver 10.0.0.1"), without: ["10.0.0.1"]) == nil)
    }
}
