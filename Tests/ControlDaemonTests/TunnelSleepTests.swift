import ControlAPI
import EventLoop
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// What the machine's sleep and wake do to a tunnel.
@Suite(.timeLimit(.minutes(2))) struct TunnelSleepTests {
    @Test func `a provider is told of a sleep and of the wake`() async throws {
        let (bench, configuration, tunnel) = try await connected()
        await tunnel.prepareForSleep()
        #expect(await notes(of: tunnel, configuration).suffix(1) == ["sleep"])
        await tunnel.wake()
        #expect(await notes(of: tunnel, configuration).suffix(2) == ["sleep", "wake"])
        await end(tunnel)
        withExtendedLifetime(bench) {}
    }

    @Test func `one that knows no sleep is told that the network changed`() async throws {
        let (bench, configuration, tunnel) = try await connected(behave: ["know no sleep"])
        await tunnel.prepareForSleep()
        await tunnel.wake()
        #expect(await notes(of: tunnel, configuration).suffix(1) == ["path changed"])
        await end(tunnel)
        withExtendedLifetime(bench) {}
    }

    @Test func `where the configuration says so it is stopped, and everything taken back by the time that is answered`()
        async throws
    {
        let (bench, configuration, tunnel) = try await connected(disconnects: true)
        let services = await tunnel.services
        let told = Told()
        services.running.observe { told.add($0) }
        await tunnel.prepareForSleep()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        let view = await tunnel.view(of: configuration)
        #expect(view.status == .disconnected && view.reason == "The machine went to sleep.")
        #expect(view.lastDisconnectError == nil)
        #expect(told.all == [true, false])
        // Neither a wake nor another sleep has anything to do.
        await tunnel.wake()
        await tunnel.prepareForSleep()
        #expect(await tunnel.view(of: configuration).status == .disconnected)
    }

    @Test func `a start that a sleep interrupts gets its time anew, once`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in start"])
        let tunnel = Tunnel(configuration, bench.services(startTimeout: .seconds(1)))
        let witness = Witness(bench.hub)
        let start = Instant.now()
        _ = try await tunnel.start(configuration)
        await tunnel.prepareForSleep()
        let ended = try await witness.event { $0.status == .disconnecting }
        let took = Instant.now() - start
        #expect(took >= .seconds(2) && ended.error?.name == .timedOut, "\(took)")
        await tunnel.idle()
    }

    @Test func `who is told which tunnels run is told of each start and of the last end`() {
        let running = RunningTunnels()
        running.note("a", isRunning: true)
        let told = Told()
        running.observe { told.add($0) }
        #expect(told.all == [true])
        running.note("a", isRunning: true)
        running.note("b", isRunning: true)
        running.note("a", isRunning: false)
        running.note("a", isRunning: false)
        #expect(told.all == [true, true])
        running.note("b", isRunning: false)
        #expect(told.all == [true, true, false])
    }

    // MARK: Set-up

    private func connected(
        behave: [String] = [],
        disconnects: Bool = false
    ) async throws -> (Bench, Configuration, Tunnel) {
        let bench = try Bench()
        var configuration = try await bench.save(behave: behave)
        if disconnects {
            configuration.disconnectOnSleep = true
            configuration = try await bench.replace(configuration)
        }
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        return (bench, configuration, tunnel)
    }

    private func notes(of tunnel: Tunnel, _ configuration: Configuration) async -> [String] {
        await tunnel.view(of: configuration).notes
    }

    private func end(_ tunnel: Tunnel) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }
}

private final class Told: Sendable {
    private let list = Mutex<[Bool]>([])
    func add(_ value: Bool) { list.withLock { $0.append(value) } }
    var all: [Bool] { list.withLock { $0 } }
}
