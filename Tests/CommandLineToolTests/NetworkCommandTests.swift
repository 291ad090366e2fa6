import ControlAPI
import Testing

@testable import CommandLineTool

@Suite struct NetworkCommandTests {
    static var network: NetworkView {
        var eth = LinkView(
            index: 2,
            name: "eth0",
            kind: .wired,
            driver: nil,
            up: true,
            carrier: true,
            mtu: 1500,
            hardwareAddress: "02:00:00:00:00:01",
            addresses: ["192.0.2.1/24"]
        )
        eth.dnsServers = ["192.0.2.53"]
        eth.searchDomains = ["corp.example"]
        eth.routeOnlyDomains = ["."]
        var wlan = LinkView(
            index: 3,
            name: "wlan0",
            kind: .wifi,
            driver: nil,
            up: true,
            carrier: false,
            mtu: 1500,
            hardwareAddress: nil,
            addresses: []
        )
        wlan.wirelessName = "Home"
        wlan.metered = true
        return NetworkView(
            readAt: Samples.now,
            primaryInterface: "eth0",
            links: [eth, wlan],
            defaultRoutes: [DefaultRouteView(family: "IPv4", interface: "eth0", gateway: "192.0.2.254", metric: 100)],
            dnsServers: ["127.0.0.53"],
            searchDomains: []
        )
    }

    @Test func `the network is told for a person`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.network = Self.network }
        let ran = await Ran.tunnelctl("network", socket: fake.socket)
        #expect(
            ran.output == """
                LINK   KIND                  STATE       MTU   ADDRESSES
                eth0   wired                 up          1500  192.0.2.1/24
                wlan0  Wi-Fi "Home" metered  no carrier  1500  \n\
                default route IPv4 by eth0 via 192.0.2.254, metric 100
                names: this machine asks 127.0.0.53
                names: eth0 asks 192.0.2.53; searches corp.example; is asked for .

                """
        )
        let json = await Ran.tunnelctl("network", "--json", socket: fake.socket)
        #expect(try json.json(NetworkView.self) == Self.network)
        #expect(json.output.contains("\"driver\" : null"), "every key stands in the document")
        await fake.stop()
    }

    @Test func `a network without a way out is said to be one`() async throws {
        let fake = try await FakeTunneld()
        fake.update {
            $0.network = Self.network
            $0.network.primaryInterface = nil
        }
        let ran = await Ran.tunnelctl("network", socket: fake.socket)
        #expect(ran.output.contains("no way out: no default route leads to a link that carries packets\n"))
        await fake.stop()
    }

    @Test func `each change is a line, and the end of tunneld an error`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.network = Self.network }
        let ran = await Ran.tunnelctl("network", "--watch", socket: fake.socket)
        #expect(ran.code == .tunneldNotRunning)
        #expect(ran.output.hasSuffix("UTC  eth0: carries no packets\n"))
        let lines = ran.output.split(separator: "\n")
        #expect(lines.count == 7, "the network as it is comes first")
        let json = await Ran.tunnelctl("network", "--watch", "--json", socket: fake.socket)
        #expect(json.output.split(separator: "\n").count == 2)
        await fake.stop()
    }

    @Test(arguments: [
        ("linkUp", "switched on"), ("carrierLost", "carries no packets"), ("addressAdded", "has the address X"),
        ("primaryLinkChanged", "is the way out now"), ("ofALaterVersion", "ofALaterVersion: X"),
    ]) func `a change has its words`(_ kind: String, _ text: String) {
        let change = NetworkChangeView(kind: kind, interface: "eth0", value: "X")
        #expect(NetworkText.change(change).rendered(colour: false) == "eth0: \(text)")
    }
}
