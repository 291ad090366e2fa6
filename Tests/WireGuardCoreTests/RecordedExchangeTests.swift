import NetworkTypes
import TestSupport
import Testing
import WireGuardCore

/// Exchanges recorded with wireguard-go: fixed keys, and our random numbers from the recorded seed.
@Suite struct RecordedExchangeTests {
    private let wireguardGo = Endpoint(.v4(.loopback), port: 51999)

    @Test func `our initiation is the recorded one, and its response opens the session that wireguard-go used`() throws
    {
        let record = try HexFixture("exchange.hex").records[0]
        var core = try core(record)
        let label = try #require(try Timestamp(bytes: record.bytes("label")))
        let moment = Moment(now: Instant(nanoseconds: 1), wallClock: label)
        var actions: [DeviceAction] = []
        core.start(at: moment, actions: &actions)
        _ = try core.addPeer(settings(record, endpoint: wireguardGo), at: moment, actions: &actions)
        #expect(sent(actions).map(\.hex) == [record["initiation"]?.hex])
        actions = []
        try core.receive(record.bytes("response"), from: wireguardGo, at: moment, actions: &actions)
        let pair = try SimulatedPair(#require(installed(actions)))
        #expect(pair.keys.isInitiator)
        #expect(pair.seal([]).hex == record["sent"]?.hex)
        #expect(try open(record.bytes("received"), pair) == record["content"])
        #expect(core.verdict(at: moment.now) == .connected)
    }

    @Test func `an initiation of wireguard-go is opened, and our recorded response made its session`() throws {
        let record = try HexFixture("exchange.hex").records[1]
        var core = try core(record)
        let moment = Moment(now: Instant(nanoseconds: 1), wallClock: Timestamp(wallSeconds: 0, nanoseconds: 0))
        var actions: [DeviceAction] = []
        core.start(at: moment, actions: &actions)
        _ = try core.addPeer(settings(record, endpoint: nil), at: moment, actions: &actions)
        try core.receive(record.bytes("initiation"), from: wireguardGo, at: moment, actions: &actions)
        #expect(sent(actions).map(\.hex) == [record["response"]?.hex])
        let pair = try SimulatedPair(#require(installed(actions)))
        #expect(!pair.keys.isInitiator)
        #expect(try open(record.bytes("received"), pair) == record["content"])
    }

    private func core(_ record: HexFixture.Record) throws -> TestCore {
        let seed = try record.bytes("seed").reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let ours = try key(record.bytes("ours"))
        guard let core = TestCore(privateKey: ours, random: SeededGenerator(seed: seed)) else {
            throw HexFixture.Failure.missing("a key that is one")
        }
        return core
    }

    private func settings(_ record: HexFixture.Record, endpoint: Endpoint?) throws -> PeerSettings {
        try PeerSettings(
            publicKey: #require(PublicKey(record.bytes("theirs"))),
            presharedKey: key(record.bytes("psk")),
            endpoint: endpoint,
            hasConfiguredEndpoint: endpoint != nil
        )
    }

    private func key(_ bytes: [UInt8]) throws -> SecretKey {
        let key = SecretKey(copying: bytes.raw)
        return try #require(key)
    }

    private func open(_ datagram: [UInt8], _ pair: SimulatedPair) throws -> [UInt8]? {
        var copy = datagram
        var span = copy.mutableSpan
        let header = try TransportHeader(parsing: unsafe span.mutableBytes)
        #expect(header.receiver == pair.keys.localIndex)
        return pair.open(datagram, header)
    }

    private func sent(_ actions: [DeviceAction]) -> [[UInt8]] {
        actions.compactMap { if case .send(let datagram, _, _) = $0 { datagram } else { nil } }
    }

    private func installed(_ actions: [DeviceAction]) -> SessionKeys? {
        actions.lazy.compactMap { if case .install(_, let keys) = $0 { keys } else { nil } }.first
    }
}
