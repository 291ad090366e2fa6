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

    @Test func `one that takes long for a change, at work, isn't taken for hung`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["work in update"])
        let tunnel = Tunnel(configuration, bench.services())
        let before = try await connected(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        bench.network.packets.signal()
        // Others ask meanwhile, and are still waiting when the change is done.
        let asking = Task { while !Task.isCancelled { _ = await tunnel.view(of: configuration) } }
        try await change(tunnel, configuration, bench)
        asking.cancel()
        let after = await tunnel.view(of: configuration)
        #expect(after.generation == 2 && after.notInForce == nil)
        #expect(after.providerProcess == before.providerProcess)
        await end(tunnel)
        #expect(try await witness.statuses(until: .disconnected) == [.disconnecting, .disconnected])
    }

    @Test func `one that is behind with its answers, and goes on giving them, isn't taken for hung`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["be slow with status"])
        let tunnel = Tunnel(configuration, bench.services())
        let before = try await connected(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        await withTaskGroup { group in
            for _ in 0..<12 { group.addTask { _ = await tunnel.view(of: configuration) } }
        }
        try await Pause.sleep(for: .seconds(5))
        #expect(await tunnel.view(of: configuration).providerProcess == before.providerProcess)
        await end(tunnel)
        #expect(try await witness.statuses(until: .disconnected) == [.disconnecting, .disconnected])
    }

    @Test func `one that hangs in a change is found before the change's own limit`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["freeze in update"])
        let tunnel = Tunnel(configuration, bench.services())
        _ = try await connected(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        let start = Instant.now()
        async let changed: Void = change(tunnel, configuration, bench)
        let lost = try await witness.event { $0.status == .reasserting }
        #expect(lost.reason?.contains("did nothing any more while a call waited, and was killed.") == true)
        #expect(Instant.now() - start < ProviderConnection.patience)
        try await changed
        // The next one has the change.
        _ = try await witness.event { $0.status == .connected }
        #expect(await eventually { await tunnel.view(of: configuration).generation == 2 })
        await end(tunnel)
    }

    @Test func `one that leaves a message waiting is replaced, and the message is told so`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        _ = try await connected(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        await #expect {
            try await tunnel.send(DataValue("hang".utf8), to: nil, within: .seconds(50))
        } throws: { ($0 as? ControlError)?.name == .providerDied }
        let lost = try await witness.event { $0.status == .reasserting }
        #expect(lost.reason?.contains("did nothing any more while a call waited, and was killed.") == true)
        _ = try await witness.event { $0.status == .connected }
        await end(tunnel)
    }

    @Test func `one that answers pings may take as long for a message as it likes`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let before = try await connected(tunnel, configuration, bench)
        await #expect {
            try await tunnel.send(DataValue("hold".utf8), to: nil, within: .seconds(5))
        } throws: { ($0 as? ControlError)?.name == .timedOut }
        #expect(await tunnel.view(of: configuration).providerProcess == before.providerProcess)
        await end(tunnel)
    }

    private func change(_ tunnel: Tunnel, _ configuration: Configuration, _ bench: Bench) async throws {
        var changed = configuration
        guard case .object(var content)? = changed.provider?.configuration else { return }
        content["addresses"] = ["192.0.2.9/32"]
        changed.provider?.configuration = .object(content)
        _ = try await bench.replace(changed)
        await tunnel.configurationChanged()
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
