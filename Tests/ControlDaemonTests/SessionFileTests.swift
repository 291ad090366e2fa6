import ControlAPI
import Glibc
import HostNetwork
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// A session's record while its network settings are put in force and its state changes.
@Suite(.timeLimit(.minutes(2))) struct SessionFileTests {
    private let bench: Bench
    private let file: SessionFile
    private var record: SessionRecord

    init() async throws {
        bench = try Bench()
        record = SessionRecord(session: "s", configuration: try await bench.save(), nonce: "n", now: .now())
        file = SessionFile(bench.journal, record)
    }

    private func stored() throws -> SessionRecord { try #require(try bench.journal.records().records.first) }

    @Test mutating func `neither of the two who write takes back what the other wrote`() throws {
        let network = NetworkJournal(interface: InterfaceIdentity(index: 7, name: "wg7"))
        try file.write(record)
        try file.write(changing: network)
        record.status = .disconnecting
        try file.write(record)
        #expect(try stored().network == network && stored().status == .disconnecting)
        var more = network
        more.version = 2
        try file.write(changing: more)
        #expect(try stored().network == more && stored().status == .disconnecting)
        #expect(file.endChange() == more)
        // From now on the network is the tunnel's own again.
        #expect(file.endChange() == nil)
        try file.write(record)
        #expect(try stored().network == NetworkJournal() && stored().status == .disconnecting)
    }

    @Test func `a stop that comes while settings are put in force stays written down`() async throws {
        let configuration = try #require(await bench.store.configurations().first)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.event { $0.status == .connected }
        bench.network.state.withLock {
            $0.millisecondsToApply = 400
            $0.millisecondsAfterRecord = 400
        }
        async let change = try? await tunnel.putInForce(nil)
        #expect(await eventually { bench.network.state.withLock { $0.applying } })
        await tunnel.stop(session: nil)
        #expect(try stored().status == .disconnecting)
        #expect(await eventually { bench.network.state.withLock { $0.recorded } })
        #expect(try stored().status == .disconnecting)
        _ = await change
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `what tunneld lets go of while it ends is the next one's to end`() async throws {
        let configuration = try #require(await bench.store.configurations().first)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.event { $0.status == .connected }
        let process = try #require(await tunnel.view(of: configuration).providerProcess)
        kill(Int32(process), SIGSTOP)
        await tunnel.stop(session: nil, reason: "Somebody stopped it.")
        await tunnel.abandon()
        // Now the stop that is under way finds it ended, and has no more say.
        kill(Int32(process), SIGKILL)
        #expect(await eventually { bench.providerProcesses.isEmpty })
        try await Task.sleep(for: .milliseconds(500))
        #expect(try stored().status == .disconnecting)
        #expect(!bench.network.devices.isEmpty && !bench.network.calls.contains("revert"))

        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let view = await tunnels.tunnel(of: configuration).view(of: configuration)
        #expect(view.status == .disconnected && view.reason == "Somebody stopped it.")
        #expect(bench.leftovers.isEmpty)
    }
}
