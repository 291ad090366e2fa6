import ControlAPI
import EventLoop
import LinuxSystem
import NetworkTypes
import TestSupport
import Testing

@testable import ControlDaemon

/// Providers that live and do nothing any more.
@Suite(.timeLimit(.minutes(2))) struct HangTests {
    /// What the issue allows, as tests assert it.
    private static let limit = Interval.seconds(5 * 3)

    @Test func `one that leaves a packet waiting and answers no ping is replaced`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in ping once"])
        let tunnel = Tunnel(configuration, bench.services())
        let before = try await connected(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        let start = Instant.now()
        bench.network.packets.signal()
        let lost = try await witness.event { $0.status == .reasserting }
        let process = try #require(before.providerProcess)
        #expect(
            lost.reason == "The tunnel's provider hung. Process \(process) did nothing any more while packets waited, "
                + "and was killed."
        )
        #expect(Instant.now() - start < Self.limit)
        _ = try await witness.statuses(until: .connected)
        let after = await tunnel.view(of: configuration)
        #expect(after.session == before.session && after.providerProcess != before.providerProcess)
        #expect(bench.providerProcesses.count == 1, "the old one is dead")
        // The packet waits still, and this one answers.
        try await Pause.sleep(for: .seconds(3))
        #expect(await tunnel.view(of: configuration).providerProcess == after.providerProcess)
        await end(tunnel)
    }

    @Test func `one that answers no ping is left alone while nothing waits for it`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in ping"])
        let tunnel = Tunnel(configuration, bench.services())
        let before = try await connected(tunnel, configuration, bench)
        try await Pause.sleep(for: .seconds(4))
        #expect(await tunnel.view(of: configuration).providerProcess == before.providerProcess)
        await end(tunnel)
    }

    @Test func `one that leaves a call waiting is replaced`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in status"])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        let start = Instant.now()
        let view = await tunnel.view(of: configuration)
        #expect(view.status == .reasserting && view.reason == "The provider doesn't answer.")
        let lost = try await witness.event { $0.status == .reasserting }
        #expect(lost.reason?.contains("did nothing any more while a call waited, and was killed.") == true)
        #expect(Instant.now() - start < Self.limit)
        _ = try await witness.statuses(until: .connected)
        await end(tunnel)
    }

    private func connected(
        _ tunnel: Tunnel,
        _ configuration: Configuration,
        _ bench: Bench
    ) async throws -> SessionView {
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.event { $0.status == .connected }
        return await tunnel.view(of: configuration)
    }

    private func end(_ tunnel: Tunnel) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }
}
