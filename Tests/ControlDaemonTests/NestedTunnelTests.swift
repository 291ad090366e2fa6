import ControlAPI
import HostNetwork
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// What becomes of a session with the tunnel that it is nested in.
@Suite(.timeLimit(.minutes(2))) struct NestedTunnelTests {
    @Test func `outer packets go through the tunnel around it while that is up, else nowhere`() async throws {
        let bench = try Bench()
        let services = bench.services()
        let outer = try await bench.save("outer")
        let inner = try await nested("inner", in: outer, bench)
        let around = Tunnel(outer, services)
        let tunnel = Tunnel(inner, services)
        try await start(tunnel, inner, bench)
        #expect(try passage(of: inner, bench) == .closed)
        try await start(around, outer, bench)
        await tunnel.otherTunnelChanged(outer.identifier)
        let name = InterfaceName.candidate(name: "outer", identifier: outer.identifier)
        #expect(try passage(of: inner, bench) == .through(InterfaceIdentity(index: 77, name: name)))

        // Its interface is gone, and nobody has told more than that something became of it.
        let device = bench.network.state.withLock { $0.devices.removeValue(forKey: name) }
        await tunnel.otherTunnelChanged(outer.identifier)
        #expect(try passage(of: inner, bench) == .closed)
        bench.network.state.withLock { $0.devices[name] = device }
        await tunnel.otherTunnelChanged(outer.identifier)
        #expect(try passage(of: inner, bench) != .closed)
        await end(around)
        await tunnel.otherTunnelChanged(outer.identifier)
        #expect(try passage(of: inner, bench) == .closed)
        await end(tunnel)
    }

    @Test func `what goes with the tunnel around it is not taken for taken away by others`() async throws {
        let bench = try Bench()
        let services = bench.services()
        let outer = try await bench.save("outer")
        let inner = try await nested("inner", in: outer, bench)
        let around = Tunnel(outer, services)
        let tunnel = Tunnel(inner, services)
        try await start(around, outer, bench)
        try await start(tunnel, inner, bench)
        #expect(try passage(of: inner, bench) != .closed)
        let name = InterfaceName.candidate(name: "outer", identifier: outer.identifier)
        bench.network.state.withLock {
            $0.devices[name] = nil
            $0.missing = ["the way to 0.0.0.0/0 into the tunnel around it"]
        }
        // One that is under way already does it as well.
        await tunnel.mend(isFresh: true)
        #expect(await eventually { (try? passage(of: inner, bench)) == .closed })
        let restored = { bench.network.calls.filter { $0.hasPrefix("restore") }.count }
        #expect(restored() == 0)
        // What others take away is put back.
        bench.network.state.withLock { $0.missing = ["the routing rule 1900"] }
        await tunnel.mend(isFresh: true)
        #expect(await eventually { restored() == 1 })
        await end(tunnel)
        await end(around)
    }

    @Test func `what becomes of any tunnel of the chain around it is told to its provider, and of no other`()
        async throws
    {
        let bench = try Bench()
        let outer = try await bench.save("outer")
        let middle = try await nested("middle", in: outer, bench)
        let inner = try await nested("inner", in: middle, bench)
        let other = try await bench.save("other")
        let tunnel = Tunnel(inner, bench.services())
        try await start(tunnel, inner, bench)
        for (changed, times) in [(other, 0), (middle, 1), (other, 1), (outer, 2)] {
            await tunnel.otherTunnelChanged(changed.identifier)
            let notes = await tunnel.view(of: inner).notes
            #expect(notes.filter { $0 == "path changed" }.count == times, "\(changed.name)")
        }
        await end(tunnel)
    }

    /// Files may have changed since the start was asked for, as while an earlier session was ending.
    @Test func `a session whose chain is broken by then doesn't begin`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save()
        configuration.nestedIn = "gone"
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        let event = try await witness.event { $0.status == .connected || $0.status == .disconnected }
        if event.status == .connected { await end(tunnel) }
        let error = try #require(await tunnel.view(of: configuration).lastDisconnectError)
        #expect(error.name == .configurationInvalid && error.field == "nestedIn")
        #expect(error.message == "Can't start home: it can't be nested as `nestedIn` says.")
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.network.calls.filter { $0 != "revert" }.isEmpty)
    }

    @Test func `that a tunnel begins, changes and ends is told once each`() async throws {
        let bench = try Bench()
        let services = bench.services()
        let configuration = try await bench.save()
        let told = Told()
        services.running.onChange { told.add($0) }
        let tunnel = Tunnel(configuration, services)
        try await start(tunnel, configuration, bench)
        let begun = told.all
        #expect(Set(begun) == [configuration.identifier])
        await tunnel.pathChanged()
        #expect(told.all == begun)
        await end(tunnel)
        #expect(told.all == begun + [configuration.identifier])
        #expect(services.running.tunnel(configuration.identifier) == nil)
    }

    private func nested(_ name: String, in outer: Configuration, _ bench: Bench) async throws -> Configuration {
        var configuration = try await bench.save(name)
        configuration.nestedIn = outer.identifier
        return try await bench.replace(configuration)
    }

    private func passage(of configuration: Configuration, _ bench: Bench) throws -> OuterPassage {
        let name = InterfaceName.candidate(name: configuration.name, identifier: configuration.identifier)
        return try #require(bench.network.state.withLock { $0.outside[name] }).passage
    }

    private func start(_ tunnel: Tunnel, _ configuration: Configuration, _ bench: Bench) async throws {
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        let event = try await witness.event {
            $0.identifier == configuration.identifier && ($0.status == .connected || $0.status == .disconnected)
        }
        try #require(event.status == .connected, "\(String(describing: event.error))")
        // The provider may say so before all that belongs to a start is done.
        #expect(await eventually { await tunnel.isReady })
    }

    private func end(_ tunnel: Tunnel) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }
}

private final class Told: Sendable {
    private let list = Mutex<[String]>([])
    func add(_ identifier: String) { list.withLock { $0.append(identifier) } }
    var all: [String] { list.withLock { $0 } }
}
