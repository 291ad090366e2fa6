import ControlAPI
import Glibc
import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardCore

@testable import WireGuardProvider

struct DeviceDriverTests {
    private let own = Endpoint(.v4(.init(0x0a0a_0001)), port: 51821)
    private let far = Endpoint(.v4(.init(0x0a0a_0002)), port: 51820)
    private let other = Endpoint(.v4(.init(0x0a0a_0003)), port: 51820)

    @Test func `a handshake is begun when the settings are applied and ends in connected`() throws {
        let (device, peer) = try pair()
        #expect(device.state().stage == .providerStarted)
        #expect(device.outside.takeSent().isEmpty)
        device.driver.start()
        #expect(device.state().status == .connecting)
        #expect(device.state().stage == .handshakeSent)
        try connect(device, peer)
        let state = device.state()
        #expect(state.status == .connected)
        #expect(state.stage == .answered)
        #expect(state.failure == nil)
        #expect(state.peers.map(\.latestHandshake) == [device.outside.clock.timestamp(at: device.outside.now)])
        #expect(state.peers.map(\.attempts) == [0])
        #expect(state.lastTimestamp?.count == 24)
        #expect(device.outside.events == [.verdict(.connected)])
    }

    @Test func `the loop is told of the session and has something to send under it at once`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        let identifier = try device.peer(peer.publicKey).identifier
        let commands = try connect(device, peer)
        let tail = commands.suffix(2)
        guard case .install(identifier, let keys)? = tail.first, case .keepalive(identifier)? = tail.last else {
            Issue.record("\(commands)")
            return
        }
        #expect(keys.isInitiator)
    }

    @Test func `a peer that doesn't answer is told as silent with what to check`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        #expect(device.state().peers[0].state == .handshaking)
        device.pass(.seconds(5))
        let view = try #require(device.state().failure)
        #expect(view.kind == .silent)
        #expect(view.endpoint == "10.10.0.2:51820")
        #expect(view.message == "10.10.0.2:51820 doesn't answer: 1 handshake sent.")
        for word in ["public key", "our public key", "filter", "port"] { #expect(view.remedy.contains(word)) }
        #expect(device.state().reason == view.message)
        device.pass(.seconds(10))
        #expect(device.state().peers[0].attempts == 2)
        _ = peer
    }

    @Test func `another pre-shared key is told as an answer that doesn't open`() throws {
        var random = SecureRandom()
        let (device, peer) = try pair(presharedKey: SecretKey(random: &random))
        device.driver.start()
        try connect(device, peer)
        let view = try #require(device.state().failure)
        #expect(view.kind == .answeredNotAuthentic)
        #expect(view.remedy.contains("pre-shared key"))
        #expect(device.state().status == .connecting)
    }

    @Test(arguments: [
        (ECONNREFUSED, FailureView.Kind.refused, "Connection refused"),
        (ENETUNREACH, .unreachable, "Network is unreachable"), (EHOSTUNREACH, .unreachable, "No route to host"),
    ])
    func `what the network says is told by its class`(code: Int32, kind: FailureView.Kind, text: String) throws {
        let (device, _) = try pair()
        device.driver.start()
        device.driver.take([.pathError(far, code: code)])
        let view = try #require(device.state().failure)
        #expect(view.kind == kind)
        #expect(view.message.contains(text))
    }

    @Test func `an error that says nothing of the peer is no failure`() throws {
        let (device, _) = try pair()
        device.driver.start()
        device.driver.take([.pathError(far, code: EMSGSIZE), .pathError(nil, code: ECONNREFUSED)])
        #expect(device.state().failure == nil)
    }

    @Test func `a name is asked for before the device is ready and called when it resolves`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        #expect(device.outside.lookUps == ["vpn.example"])
        device.driver.start()
        #expect(device.outside.takeSent().isEmpty)
        answer(device, ["10.10.0.2"])
        #expect(device.outside.takeSent().map(\.destination) == [far])
        #expect(device.state().peers.map(\.endpoint) == ["10.10.0.2:51820"])
        #expect(device.state().peers.map(\.configuredEndpoint) == ["vpn.example:51820"])
    }

    @Test func `a name that is still being looked up is told as that, and as a failure only after 2 s`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.start()
        device.pass(.seconds(1))
        #expect(device.state().failure == nil)
        #expect(device.state().reason == "The name in vpn.example:51820 is being looked up.")
        device.pass(.seconds(1))
        let failure = try #require(device.state().failure)
        #expect(failure.kind == .name)
        #expect(failure.message == "The name in vpn.example:51820 isn't resolved yet, so nobody could be called.")
        #expect(device.state().reason == failure.message)
        #expect(device.state().stage == .settingsApplied)
        // Nobody was called, so nobody is silent, however long that lasts.
        device.pass(.seconds(20))
        #expect(device.state().failure == failure)
        #expect(device.state().peers.map(\.state) == [.handshaking])
    }

    @Test func `the time without an answer counts from the first handshake that was sent`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.start()
        device.pass(.seconds(20))
        answer(device, ["10.10.0.2"])
        device.pass(.milliseconds(500))
        #expect(device.outside.takeSent().map(\.destination) == [far])
        #expect(device.state().failure == nil)
        #expect(device.state().reason == "Waiting for an answer from 10.10.0.2:51820.")
        #expect(device.state().peers.map(\.state) == [.handshaking])
        device.pass(.milliseconds(4400))
        #expect(device.state().failure == nil)
        device.pass(.milliseconds(1000))
        #expect(device.state().failure?.kind == .silent)
        #expect(device.state().peers.map(\.state) == [.silent])
    }

    @Test func `a connected device whose name server is gone waits for nothing`() throws {
        let device = try TestDevice()
        let peer = try makePeer(device)
        var settings = DevicePeerSettings(publicKey: peer.publicKey)
        settings.origin = .name("vpn.example", port: 51820)
        settings.hint = far
        try device.driver.addPeer(settings)
        device.driver.start()
        try connect(device, peer)
        answer(device, [], failure: "no name server")
        #expect(device.state().status == .connected)
        let armed = try #require(device.outside.armed)
        #expect(armed - device.outside.now == .seconds(540))
        device.pass(.seconds(600))
        #expect(device.outside.lookUps.count == 1)
    }

    @Test func `after a sleep the name of a connected peer is looked up anew`() throws {
        let device = try TestDevice()
        let peer = try makePeer(device)
        var settings = DevicePeerSettings(publicKey: peer.publicKey)
        settings.origin = .name("vpn.example", port: 51820)
        try device.driver.addPeer(settings)
        device.driver.start()
        answer(device, ["10.10.0.2"])
        try connect(device, peer)
        #expect(device.outside.lookUps.count == 1)
        device.driver.wake()
        #expect(device.outside.lookUps.count == 2)
    }

    @Test func `a name that doesn't resolve is told and asked for again with growing gaps`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.start()
        answer(device, [], failure: "no such name")
        let view = try #require(device.state().failure)
        #expect(view.kind == .name)
        #expect(view.message == "The name in vpn.example:51820 doesn't resolve (no such name).")
        var asked: [Int] = []
        for second in 1...60 {
            device.pass(.seconds(1))
            if device.outside.lookUps.count > asked.count + 1 {
                asked.append(second)
                answer(device, [], failure: "no such name")
            }
        }
        #expect(asked == [5, 15, 35])
        device.driver.networkChanged(.moved)
        #expect(device.outside.lookUps.count == 5)
    }

    @Test func `a name that is known not to resolve before anybody is called is told at once`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.lookUpNames(now: .zero)
        answer(device, [], failure: "no such name")
        device.driver.start()
        #expect(device.state().failure?.kind == .name)
        #expect(device.state().reason == "The name in vpn.example:51820 doesn't resolve (no such name).")
    }

    @Test func `where one address can't be reached the same call goes to the next at once`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.start()
        answer(device, ["10.10.0.2", "10.10.0.3"])
        let first = try #require(device.outside.takeSent().first)
        device.driver.take([.pathError(far, code: ENETUNREACH)])
        let second = try #require(device.outside.takeSent().first)
        #expect(second.destination == other)
        #expect(second.datagram == first.datagram)
        // The address that is called now may be a good one.
        #expect(device.state().failure?.endpoint == far.description)
        device.driver.take([.pathError(other, code: ENETUNREACH)])
        #expect(device.outside.takeSent().isEmpty)
        #expect(device.state().failure?.kind == .unreachable)
        #expect(device.state().failure?.endpoint == other.description)
    }

    @Test func `addresses that are silent are called in turn and the name is asked for again behind the last`() throws {
        let device = try TestDevice()
        try device.driver.addPeer(try named("vpn.example"))
        device.driver.start()
        answer(device, ["10.10.0.2", "10.10.0.3"])
        device.pass(.seconds(20))
        #expect(device.outside.takeSent().map(\.destination) == [far, other, other])
        #expect(device.outside.lookUps.count == 2)
        answer(device, ["10.10.0.3", "10.10.0.2"])
        device.pass(.seconds(30))
        #expect(device.outside.takeSent().map(\.destination) == [far])
    }

    @Test func `a hint from an earlier run is called at once`() throws {
        let device = try TestDevice()
        var settings = try named("vpn.example")
        settings.hint = other
        try device.driver.addPeer(settings)
        device.driver.start()
        #expect(device.outside.takeSent().map(\.destination) == [other])
    }

    @Test func `a device whose clock went back sends a label beyond the latest and says so while it waits`() throws {
        let device = try TestDevice(
            lastTimestamp: WireGuardCore.Timestamp(wallSeconds: FakeOutside.wallSeconds * 2, nanoseconds: 0)
        )
        try device.driver.addPeer(numeric(try makePeer(device).publicKey))
        device.driver.start()
        let sent = try #require(device.driver.sentLabel)
        #expect(sent > WireGuardCore.Timestamp(wallSeconds: FakeOutside.wallSeconds * 2, nanoseconds: 0))
        #expect(device.state().notes.contains { $0.contains("clock was set back") })
    }

    @Test func `an idle connected device waits for nothing but the end of its keys`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        try connect(device, peer)
        let armed = try #require(device.outside.armed)
        #expect(armed - device.outside.now == .seconds(540))
        device.pass(.seconds(540))
        #expect(device.outside.armed == nil)
        #expect(device.state().status == .connected)
        #expect(device.state().peers[0].verification == .expired)
    }

    @Test func `tunneld is told of changes and never of packets`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        try connect(device, peer)
        let changes = device.outside.changes
        for _ in 0..<100 { device.driver.take([.timerWanted(try device.peer(peer.publicKey).identifier)]) }
        #expect(device.outside.changes == changes)
        device.driver.take([.roamed(try device.peer(peer.publicKey).identifier, other)])
        #expect(device.outside.changes == changes + 1)
        #expect(device.state().peers.map(\.endpoint) == ["10.10.0.3:51820"])
    }

    // MARK: Helpers

    private func makePeer(_ device: TestDevice, presharedKey: SecretKey = .zero) throws -> TestPeer {
        try TestPeer(far, knows: device.publicKey, presharedKey: presharedKey, at: device.outside.moment())
    }

    private func pair(presharedKey: SecretKey = .zero) throws -> (TestDevice, TestPeer) {
        let device = try TestDevice()
        let peer = try makePeer(device, presharedKey: presharedKey)
        try device.driver.addPeer(numeric(peer.publicKey))
        return (device, peer)
    }

    private func numeric(_ key: PublicKey) -> DevicePeerSettings {
        var settings = DevicePeerSettings(publicKey: key)
        settings.origin = .address(far)
        settings.configuredEndpoint = far.description
        return settings
    }

    private func named(_ name: String) throws -> DevicePeerSettings {
        var random = SecureRandom()
        let key = PublicKey(LibraryCryptography.publicKey(of: SecretKey(random: &random).bytes))
        var settings = DevicePeerSettings(publicKey: try #require(key))
        settings.origin = .name(name, port: 51820)
        settings.configuredEndpoint = "\(name):51820"
        return settings
    }

    private func answer(_ device: TestDevice, _ addresses: [String], failure: String? = nil) {
        guard let name = device.outside.lookUps.last, let peer = device.outside.lookUpPeers.last else { return }
        device.driver.lookedUp(name, for: peer, addresses.compactMap { IPAddress($0) }, failure: failure)
        device.pass(.zero)
    }

    /// Carries messages between the two until nobody has one.
    ///
    /// - Returns: what the loop was told since the first.
    @discardableResult
    private func connect(_ device: TestDevice, _ peer: TestPeer) throws -> [LoopCommand] {
        var waiting = device.outside.takeSent()
        while let sent = waiting.popLast() {
            let answers = peer.answers(to: sent.datagram, from: own, at: device.outside.moment())
            device.driver.take(answers.map { .handshake($0, from: peer.endpoint) })
        }
        return device.outside.commands
    }
}
