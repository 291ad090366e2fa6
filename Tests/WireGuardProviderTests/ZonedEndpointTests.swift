import ControlAPI
import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

@testable import WireGuardProvider

/// Endpoints that are link-local addresses beyond an interface.
struct ZonedEndpointTests {
    private let start = Instant.zero + .seconds(100)
    private let address: IPAddress

    init() throws { address = try #require(IPAddress("fe80::1")) }

    // MARK: The interface

    @Test func `an interface is found by its name and by its number`() throws {
        let index = try #require(InterfaceZone.index("lo"))
        #expect(InterfaceZone.index(String(index)) == index)
        #expect(InterfaceZone.name(index) == "lo")
    }

    @Test(arguments: ["nope", "", "4294967295", "4294967296", "0", "-1", "a name longer than any interface's"])
    func `what is no interface isn't found`(zone: String) { #expect(InterfaceZone.index(zone) == nil) }

    @Test func `an endpoint is read and written with its interface's name`() throws {
        let endpoint = Endpoint("[fe80::1%eth0]:51820", zone: { $0 == "eth0" ? 7 : nil })
        #expect(endpoint == Endpoint(address, port: 51820, zone: 7))
        #expect(Endpoint("[fe80::1%7]:51820", zone: { _ in nil }) == endpoint)
        #expect(endpoint?.text(zoneName: { $0 == 7 ? "eth0" : nil }) == "[fe80::1%eth0]:51820")
        #expect(endpoint?.text(zoneName: { _ in nil }) == "[fe80::1%7]:51820")
        #expect(Endpoint(address, port: 1).text(zoneName: { _ in "eth0" }) == "[fe80::1]:1")
    }

    @Test(arguments: [
        "[fe80::1%eth1]:1", "[fe80::1%]:1", "[fe80::1]%eth0:1", "fe80::1%eth0", "192.0.2.1%eth0:1", "%]", "]%",
    ])
    func `what is no endpoint with a zone isn't read`(text: String) {
        #expect(Endpoint(text, zone: { $0 == "eth0" ? 7 : nil }) == nil)
    }

    @Test func `the zone of a configured endpoint is looked for, also when it is a number`() throws {
        for zone in ["eth0", "7"] {
            let endpoint = PeerEndpoint(.address(address, zone: zone), port: 9)
            #expect(endpoint?.origin == .zoned(address, interface: zone, port: 9))
        }
        let plain = PeerEndpoint(.address(address, zone: nil), port: 9)
        #expect(plain?.origin == .address(Endpoint(address, port: 9)))
    }

    // MARK: The search

    @Test func `an interface that isn't there is looked for again with growing gaps, and at once after a change`() {
        var search = zoned()
        var now = start
        for gap in [5, 10, 20, 40, 60, 60] {
            let asked = search.ask(now: now)
            #expect(asked)
            let found = search.found(interface: nil, now: now)
            #expect(found == nil)
            #expect(search.isUnresolved)
            #expect(search.deadline == now + .seconds(gap))
            now = now + .seconds(gap)
        }
        _ = search.ask(now: now)
        _ = search.found(interface: nil, now: now)
        search.networkChanged(isOther: false)
        let asked = search.ask(now: now)
        #expect(asked)
        let found = search.found(interface: 3, now: now)
        #expect(found == Endpoint(address, port: 9, zone: 3))
        #expect(search.deadline == nil)
        #expect(!search.isUnresolved)
    }

    @Test func `an interface that went is no more called by its old number`() {
        var search = zoned()
        _ = search.found(interface: 3, now: start)
        search.networkChanged(isOther: false)
        let asked = search.ask(now: start)
        #expect(asked)
        _ = search.found(interface: nil, now: start)
        #expect(search.current == nil)
        let found = search.found(interface: 4, now: start)
        #expect(found == Endpoint(address, port: 9, zone: 4))
    }

    @Test func `a peer that moved keeps its address when the interface goes or is found as before`() {
        let other = Endpoint(.v4(.init(0x0a0a_0003)), port: 1)
        var search = zoned()
        _ = search.found(interface: 3, now: start)
        search.learn(other)
        let again = search.found(interface: 3, now: start)
        #expect(again == nil)
        #expect(search.current == other)
        let next = search.advance()
        #expect(next == Endpoint(address, port: 9, zone: 3))
        search.learn(other)
        _ = search.found(interface: nil, now: start)
        #expect(search.current == other)
    }

    @Test func `a hint at the same place isn't called twice`() {
        let endpoint = Endpoint(address, port: 9, zone: 3)
        var search = zoned()
        search.learn(endpoint)
        _ = search.found(interface: 3, now: start)
        #expect(search.current == endpoint)
        #expect(!search.hasNext)
        let next = search.advance()
        #expect(next == nil)
        // The interface may be another one by now.
        let asked = search.ask(now: start)
        #expect(asked)
    }

    // MARK: The device

    @Test(arguments: ["eth0", "7"])
    func `a peer beyond an interface is called at once and shown with the interface's name`(zone: String) throws {
        let device = try TestDevice()
        device.outside.interfaces = ["eth0": 7]
        try device.driver.addPeer(try settings(zone))
        device.driver.start()
        #expect(device.outside.takeSent().map(\.destination) == [Endpoint(address, port: 9, zone: 7)])
        #expect(device.state().peers[0].endpoint == "[fe80::1%eth0]:9")
        #expect(device.state().failure == nil)
        // `wg` reads both, and a number doesn't depend on where it runs.
        #expect(device.report().peers[0].endpoint?.description == "[fe80::1%7]:9")
        device.pass(.seconds(5))
        #expect(device.state().failure?.message == "[fe80::1%eth0]:9 doesn't answer: 1 handshake sent.")
    }

    @Test func `an interface that isn't there is named, and its peer called when it appears`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try settings("nope"))
        device.driver.start()
        for _ in 0..<20 {
            let view = try #require(device.state().failure)
            #expect(view.kind == .unreachable)
            #expect(view.message == "There is no interface nope.")
            #expect(view.endpoint == "[fe80::1%nope]:9")
            #expect(device.state().reason == view.message)
            #expect(device.state().status == .connecting)
            device.pass(.seconds(10))
        }
        #expect(device.outside.takeSent().isEmpty)
        device.outside.interfaces = ["nope": 12]
        device.driver.networkChanged(.moved)
        device.pass(.seconds(1))
        #expect(device.outside.takeSent().map(\.destination) == [Endpoint(address, port: 9, zone: 12)])
        #expect(device.state().reason == "Waiting for an answer from [fe80::1%nope]:9.")
        device.pass(.milliseconds(4500))
        #expect(device.state().reason?.hasPrefix("[fe80::1%nope]:9 doesn't answer: ") == true)
    }

    @Test func `an interface that appears is noticed without being told of it`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try settings("nope"))
        device.driver.start()
        device.outside.interfaces = ["nope": 12]
        device.pass(.seconds(6))
        #expect(device.outside.takeSent().map(\.destination) == [Endpoint(address, port: 9, zone: 12)])
    }

    @Test func `tunneld is told when the interface goes and when another comes in its place`() throws {
        let device = try TestDevice()
        device.outside.interfaces = ["eth0": 7]
        try device.driver.addPeer(try settings("eth0"))
        device.driver.start()
        device.pass(.seconds(1))
        var changes = device.outside.changes
        device.outside.interfaces = [:]
        device.driver.networkChanged(.moved)
        #expect(device.outside.changes == changes + 1)
        #expect(device.state().failure?.message == "There is no interface eth0.")
        changes = device.outside.changes
        device.outside.interfaces = ["eth0": 8]
        device.driver.networkChanged(.moved)
        #expect(device.outside.changes == changes + 1)
        #expect(device.state().peers[0].endpoint == "[fe80::1%eth0]:9")
        _ = device.outside.takeSent()
        device.pass(.seconds(6))
        // After 1 and 3 seconds, since the way has just come.
        let endpoint = Endpoint(address, port: 9, zone: 8)
        #expect(device.outside.takeSent().map(\.destination) == [endpoint, endpoint])
    }

    // MARK: Helpers

    private func zoned() -> EndpointSearch { EndpointSearch(.zoned(address, interface: "eth0", port: 9)) }

    private func settings(_ zone: String) throws -> DevicePeerSettings {
        var random = SecureRandom()
        let key = PublicKey(LibraryCryptography.publicKey(of: SecretKey(random: &random).bytes))
        var settings = DevicePeerSettings(publicKey: try #require(key))
        settings.origin = .zoned(address, interface: zone, port: 9)
        settings.configuredEndpoint = "[\(address)%\(zone)]:9"
        return settings
    }
}
