import ControlAPI
import HostNetwork
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// When the block is asked for, and when it is let go.
@Suite(.timeLimit(.minutes(2))) struct BlockSessionTests {
    private func saved(_ bench: Bench, behave: [String] = [], persistent: Bool = false) async throws -> Configuration {
        var configuration = try await bench.save(behave: behave)
        configuration.includeAllNetworks = true
        configuration.persistentBlock = persistent
        return try await bench.replace(configuration)
    }

    @Test func `it stands before anything else, knows interface and port before they are used, and ends with the stop`()
        async throws
    {
        let bench = try Bench()
        let configuration = try await saved(bench)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        let changes = bench.block.state.withLock { $0.changes }.compactMap(\.self)
        #expect(changes[0].holds && changes[0].interface == nil && changes[0].port == nil)
        #expect(changes[1].interface != nil && changes[1].port == nil)
        #expect(changes[2].port == 50_000)
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(bench.block.members.isEmpty)
    }

    @Test func `where it can't be had the tunnel isn't started`() async throws {
        let bench = try Bench()
        let configuration = try await saved(bench)
        bench.block.state.withLock { $0.isBroken = true }
        let tunnel = Tunnel(configuration, bench.services())
        _ = try await tunnel.start(configuration)
        await tunnel.idle()
        let view = await tunnel.view(of: configuration)
        #expect(view.lastDisconnectError?.message == "The fake block can't be loaded.")
        #expect(bench.network.calls.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `after a failed start it stays, until somebody says so`() async throws {
        let bench = try Bench()
        let configuration = try await saved(bench)
        bench.network.fail("sockets")
        let tunnel = Tunnel(configuration, bench.services())
        _ = try await tunnel.start(configuration)
        await tunnel.idle()
        #expect(bench.block.members.values.map(\.holds) == [true])
        #expect(bench.block.members.values.map(\.interface) == [nil], "nothing passes for it any more")
        let block = try #require(await tunnel.view(of: configuration).block)
        #expect(block.inForce && block.held && block.remedy?.contains("tunnelctl down home") == true)
        await tunnel.liftBlock(session: nil)
        #expect(bench.block.members.isEmpty)
    }

    @Test func `it stays where the machine's sleep stops the tunnel`() async throws {
        let bench = try Bench()
        var configuration = try await saved(bench)
        configuration.disconnectOnSleep = true
        configuration = try await bench.replace(configuration)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        await tunnel.prepareForSleep()
        #expect(await tunnel.isIdle)
        #expect(bench.block.members.values.map(\.holds) == [true])
        await tunnel.liftBlock(session: nil)
        #expect(bench.block.members.isEmpty)
    }

    @Test func `a persistent one stays after the stop`() async throws {
        let bench = try Bench()
        let configuration = try await saved(bench, persistent: true)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        await tunnel.stop(session: nil)
        await tunnel.liftBlock(session: nil)
        await tunnel.idle()
        #expect(bench.block.members.values.map(\.holds) == [true])
        await tunnel.liftBlock(session: nil)
        #expect(bench.block.members.values.map(\.holds) == [true])
    }

    @Test func `what changes in the store is followed for tunnels that are down`() async throws {
        let bench = try Bench()
        let keeper = BlockKeeper(block: bench.block, store: bench.store, state: bench.directories.state, log: bench.log)
        func step(_ previous: Configuration?, _ current: Configuration?) async -> BlockStep {
            await keeper.step(after: .init(previous: previous, current: current))
        }
        let plain = try await saved(bench)
        var persistent = plain
        persistent.persistentBlock = true
        #expect(await step(plain, plain) == .none)
        #expect(await step(plain, persistent) == .hold(persistent))
        try await bench.block.set(plain.identifier, to: BlockPolicy.bare(plain))
        #expect(await step(plain, plain) == .hold(plain), "what a failure left stays with a rename")
        #expect(await step(persistent, plain) == .release)
        var removed = plain
        removed.identifier = "removed"
        #expect(await step(removed, nil) == .release)
        var without = plain
        without.includeAllNetworks = false
        #expect(await step(plain, without) == .release)
        var disabled = plain
        disabled.enabled = false
        #expect(await step(plain, disabled) == .release)
        // Another one that takes its place.
        let other = try await bench.save("work")
        var new = other
        new.includeAllNetworks = true
        new.exclusive = true
        #expect(await step(other, new) == .hold(new))
    }

    @Test(arguments: [false, true]) func `it stays for a configuration that is lost, until that is given up`(
        isPersistent: Bool
    ) async throws {
        let bench = try Bench()
        let configuration = try await saved(bench, persistent: isPersistent)
        let keeper = BlockKeeper(block: bench.block, store: bench.store, state: bench.directories.state, log: bench.log)
        try await bench.block.set(configuration.identifier, to: BlockPolicy.bare(configuration))
        await bench.store.lose(configuration.identifier, "It was removed.")
        #expect(await keeper.step(after: .init(previous: configuration, current: nil)) == .hold(configuration))
        #expect(await keeper.isLeft(configuration.identifier) == !isPersistent)
        await keeper.resume([])
        #expect(Set(bench.block.members.keys) == [configuration.identifier])
        try await bench.store.remove(configuration.identifier, generation: nil)
        #expect(await keeper.step(after: .init(previous: configuration, current: nil)) == .release)
        #expect(await keeper.isLeft(configuration.identifier))
    }

    @Test func `a switch that a crash cut short leaves the block to the new one`() async throws {
        let bench = try Bench()
        let old = try await saved(bench)
        var new = try await bench.save("work")
        new.includeAllNetworks = true
        new = try await bench.replace(new)
        #expect(await bench.store.configuration(old.identifier)?.enabled == false)
        let keeper = BlockKeeper(block: bench.block, store: bench.store, state: bench.directories.state, log: bench.log)
        try await bench.block.set(old.identifier, to: BlockPolicy.bare(old))
        await keeper.resume([SessionRecord(session: "s", configuration: old, nonce: "n", now: .now())])
        #expect(Set(bench.block.members.keys) == [old.identifier, new.identifier])
        bench.block.state.withLock { $0.members = [:] }
        try await bench.block.set(old.identifier, to: BlockPolicy.bare(old))
        await keeper.resume([])
        #expect(Set(bench.block.members.keys) == [new.identifier])
    }

    @Test func `the next tunneld keeps those that count, and adds those that must`() async throws {
        let bench = try Bench()
        let kept = try await saved(bench, persistent: false)
        let keeper = BlockKeeper(block: bench.block, store: bench.store, state: bench.directories.state, log: bench.log)
        for identifier in [kept.identifier, "gone"] {
            try await bench.block.set(identifier, to: BlockPolicy.bare(kept))
        }
        await keeper.resume([])
        #expect(Set(bench.block.members.keys) == [kept.identifier])
        let record = SessionRecord(session: "s", configuration: kept, nonce: "n", now: .now())
        var known = BlockPolicy.bare(kept)
        known.permit(try #require(Endpoint("192.0.2.7:51820")))
        let running = known
        bench.block.state.withLock { $0.members = [kept.identifier: running] }
        await keeper.resume([record])
        #expect(bench.block.members == [kept.identifier: running], "what look-ups found stays permitted")
        bench.block.state.withLock { $0.members = [:] }
        await keeper.resume([record])
        #expect(bench.block.members[kept.identifier]?.holds == true)
        bench.block.state.withLock { $0.members = [:] }
        await keeper.resume([])
        #expect(bench.block.members.isEmpty)
    }

    @Test func `what a running tunnel's configuration forbids anew is blocked before the rest of the change`()
        async throws
    {
        let bench = try Bench()
        var configuration = try await saved(bench)
        configuration.excludeLocalNetworks = true
        configuration = try await bench.replace(configuration)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        #expect(bench.block.members.values.map(\.permitsLocalNetworks) == [true])
        var strict = configuration
        strict.excludeLocalNetworks = false
        strict = try await bench.replace(strict)
        await tunnel.tighten(strict)
        #expect(bench.block.members.values.map(\.permitsLocalNetworks) == [false])
        await tunnel.permitNews()
        #expect(bench.block.members.values.map(\.permitsLocalNetworks) == [false], "whatever is told meanwhile")
        await tunnel.configurationChanged()
        #expect(bench.block.members.values.map(\.permitsLocalNetworks) == [false])
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }
}
