import ControlAPI
import NetworkTypes
import Testing
import TunnelCrypto
import WireGuardCore

@testable import WireGuardProvider

/// Hours and years of a device in moments: what is said of it, and what clocks that jump do to it.
struct LongRunTests {
    private let own = Endpoint(.v4(.init(0x0a0a_0001)), port: 51821)
    private let far = Endpoint(.v4(.init(0x0a0a_0002)), port: 51820)
    private let tenYears: Int64 = 315_576_000

    @Test func `an hour without an answer, looked at each second, isn't logged and seldom told`() throws {
        let device = try device(knowing: try otherKey())
        device.driver.start()
        var attempts = 0
        for _ in 0..<3600 {
            device.pass(.seconds(1))
            attempts += device.outside.takeSent().count
            #expect(device.state().status == .connecting)
        }
        #expect((60...300).contains(attempts), "\(attempts)")
        // What it begins with is no line: `connecting` is tunneld's to say.
        #expect(device.outside.events == [])
        #expect(device.outside.changes <= 2 * attempts + 4, "\(device.outside.changes)")
    }

    @Test func `a day with a peer that answers is one line, over all its rekeys`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        var handshakes = 0
        var sample = TrafficSample()
        for second in 0..<86_400 {
            handshakes += carry(device, peer)
            device.pass(.seconds(1))
            sample.noteSent(isData: true, bytes: 100, now: device.outside.now)
            sample.noteReceived(isData: true, bytes: 100, now: device.outside.now)
            let watch = try device.peer(peer.publicKey).watch
            let edges = watch.publish(sample, wantsTimer: sample.wantsTimer, heard: true)
            let identifier = try device.peer(peer.publicKey).identifier
            if edges.timerWanted { device.driver.take([.timerWanted(identifier)]) }
            if second % 120 == 119 { device.driver.take([.handshakeWanted(identifier)]) }
        }
        #expect(handshakes > 700, "\(handshakes)")
        #expect(device.outside.events == [.verdict(.connected)])
        #expect(device.state().status == .connected)
    }

    @Test(arguments: [1, -1] as [Int64])
    func `a wall clock that jumps by ten years leaves a tunnel connected`(direction: Int64) throws {
        let (device, peer) = try pair()
        device.driver.start()
        carry(device, peer)
        let before = try #require(device.state().lastTimestamp)
        device.outside.wallShift += direction * tenYears
        let identifier = try device.peer(peer.publicKey).identifier
        for _ in 0..<5 {
            device.pass(.seconds(200))
            device.driver.take([.handshakeWanted(identifier)])
            #expect(carry(device, peer) == 1)
            #expect(device.state().status == .connected)
            #expect(device.state().peers.map(\.attempts) == [0])
        }
        let state = device.state()
        #expect(try #require(state.lastTimestamp) > before)
        // Ages are counted by the other clock, times are told by this one.
        #expect(state.peers.map(\.latestHandshake) == [device.outside.clock.timestamp(at: device.outside.now)])
        #expect(device.outside.events == [.verdict(.connected)])
    }

    @Test func `a boot clock that jumps by ten years costs one handshake`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        carry(device, peer)
        // No timer fires meanwhile, as in a sleep; then all that are due do at once.
        device.outside.now = device.outside.now + .seconds(Int(tenYears))
        device.driver.expire()
        #expect(device.state().status == .connected)
        #expect(device.state().peers.map(\.verification) == [.expired])
        device.driver.take([.handshakeWanted(try device.peer(peer.publicKey).identifier)])
        #expect(carry(device, peer) == 1)
        #expect(device.state().status == .connected)
        #expect(device.state().peers.map(\.verification) == [.live])
        #expect(device.outside.events == [.verdict(.connected)])
    }

    @Test func `a wake after five minutes drops the keys, looks the name up and asks for an answer at once`() throws {
        let device = try TestDevice()
        let peer = try TestPeer(far, knows: device.publicKey, at: device.outside.moment())
        var settings = DevicePeerSettings(publicKey: peer.publicKey)
        settings.origin = .name("vpn.example", port: 51820)
        try device.driver.addPeer(settings)
        let identifier = try device.peer(peer.publicKey).identifier
        device.driver.start()
        device.driver.lookedUp("vpn.example", for: identifier, [far.address], failure: nil)
        device.pass(.seconds(1))
        #expect(carry(device, peer) == 1)
        device.driver.sleep()
        device.outside.now = device.outside.now + .seconds(300)
        device.driver.expire()
        _ = device.outside.takeSent()
        device.driver.wake()
        let posted = device.outside.commands.map { "\($0)".prefix { $0 != "(" } }
        #expect(posted == ["wipeExpired", "send"], "\(posted)")
        #expect(device.outside.lookUps == ["vpn.example", "vpn.example"])
        #expect(device.state().peers.map(\.attempts) == [1])
        // The address is still the name's, so nothing is called twice.
        device.driver.lookedUp("vpn.example", for: identifier, [far.address], failure: nil)
        #expect(carry(device, peer) == 1)
        #expect(device.state().status == .connected)
        #expect(device.state().peers.map(\.verification) == [.live])
        #expect(device.outside.events == [.verdict(.connected)])
    }

    @Test func `a wake within the limit keeps the keys and asks for an answer under them`() throws {
        let (device, peer) = try pair()
        device.driver.start()
        carry(device, peer)
        device.outside.now = device.outside.now + .seconds(60)
        device.driver.wake()
        let posted = device.outside.commands.map { "\($0)".prefix { $0 != "(" } }
        #expect(posted == ["keepalive", "send"], "\(posted)")
        #expect(carry(device, peer) == 1)
        #expect(device.state().status == .connected)
    }

    // MARK: Set-up

    private func pair() throws -> (TestDevice, TestPeer) {
        let device = try TestDevice()
        let peer = try TestPeer(far, knows: device.publicKey, at: device.outside.moment())
        try add(peer.publicKey, to: device)
        return (device, peer)
    }

    private func device(knowing key: PublicKey) throws -> TestDevice {
        let device = try TestDevice()
        try add(key, to: device)
        return device
    }

    private func add(_ key: PublicKey, to device: TestDevice) throws {
        var settings = DevicePeerSettings(publicKey: key)
        settings.origin = .address(far)
        settings.configuredEndpoint = far.description
        try device.driver.addPeer(settings)
    }

    private func otherKey() throws -> PublicKey {
        var random = SecureRandom()
        return try #require(PublicKey(LibraryCryptography.publicKey(of: SecretKey(random: &random).bytes)))
    }

    /// Carries messages between the two until nobody has one.
    ///
    /// - Returns: how many the peer answered.
    @discardableResult
    private func carry(_ device: TestDevice, _ peer: TestPeer) -> Int {
        var answered = 0
        var waiting = device.outside.takeSent()
        while let sent = waiting.popLast() {
            let answers = peer.answers(to: sent.datagram, from: own, at: device.outside.moment())
            answered += answers.count
            device.driver.take(answers.map { .handshake($0, from: peer.endpoint) })
            waiting += device.outside.takeSent()
        }
        return answered
    }
}
