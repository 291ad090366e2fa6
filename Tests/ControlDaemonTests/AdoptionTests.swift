import ControlAPI
import Glibc
import LinuxSystem
import NetworkTypes
import TestSupport
import Testing

@testable import ControlDaemon

/// A tunneld that starts after another has gone without a word.
@Suite(.timeLimit(.minutes(2))) struct AdoptionTests {
    @Test func `a live provider is taken over, and its session goes on as if nothing had happened`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)

        let witness = Witness(bench.hub)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = await tunnels.tunnel(of: configuration)
        let after = await tunnel.view(of: configuration)
        #expect(after.status == .connected && after.session == before.session)
        #expect(after.since == before.since)
        #expect(after.providerProcess == before.providerProcess && after.interface == before.interface)
        #expect(after.addresses == before.addresses && after.mtu == before.mtu)
        #expect(after.counters?.since == before.counters?.since)
        #expect(after.notes.contains("epoch 2"))

        // Descriptors were handed over again: a new provider can go on with them.
        kill(Int32(try #require(after.providerProcess)), SIGKILL)
        #expect(try await witness.statuses(until: .connected) == [.reasserting, .connected])
        #expect(await tunnel.view(of: configuration).notes.contains("descriptors secrets tun udp4"))
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(try await witness.statuses(until: .disconnected) == [.disconnecting, .disconnected])
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `letting go of a provider is no change of the tunnel's state`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        let last = bench.hub.subscribe { _, _ in true }.sequence
        await tunnel.abandon()
        // The tasks that the closing woke come before this one in the tunnel's queue.
        await tunnel.abandon()
        #expect(bench.hub.subscribe { _, _ in true }.sequence == last)
        #expect(try bench.journal.records().records.map(\.status) == [.connected])

        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let adopted = await tunnels.tunnel(of: configuration)
        await adopted.stop(session: nil)
        await adopted.idle()
    }

    @Test func `a session whose provider is gone is undone and told`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        kill(Int32(try #require(before.providerProcess)), SIGKILL)
        #expect(await eventually { bench.providerProcesses.isEmpty })

        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let view = await tunnels.tunnel(of: configuration).view(of: configuration)
        #expect(view.status == .disconnected && view.session == nil)
        #expect(view.lastDisconnectError?.message == "The tunnel of home ended while tunneld didn't run.")
        #expect(bench.leftovers.isEmpty)
    }

    @Test func `another process with the provider's number is not touched`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        var record = SessionRecord(session: "a", configuration: configuration, nonce: "n", now: .now())
        let own = try #require(ProcessIdentity(reading: getpid()))
        record.user = ProviderUser.range.lowerBound
        record.process = SessionRecord.Process(ProcessIdentity(pid: own.pid, startTime: own.startTime + 1))
        try bench.journal.write(record)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        #expect(await tunnels.tunnel(of: configuration).view(of: configuration).status == .disconnected)
        #expect(bench.leftovers.isEmpty)
    }

    @Test(arguments: ["before the device", "after the device"])
    func `a start that a crash cut short is undone`(moment: String) async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        var record = SessionRecord(session: "a", configuration: configuration, nonce: "n", now: .now())
        record.interface = "home-12345"
        if moment == "after the device" {
            // The journal names the interface before it is made; its number comes after.
            _ = try await bench.network.makeDevice("home-12345", owner: 1)
        }
        try bench.journal.write(record)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        #expect(bench.leftovers.isEmpty)
    }

    @Test func `folders of providers that nobody knows of are removed, with who runs there`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let descriptor = try await bench.catalogue.descriptor("org.tunneld.fake")
        let launch = ProviderLaunch(
            descriptor: descriptor,
            identifier: configuration.identifier,
            nonce: "n",
            user: nil
        )
        _ = try await bench.launcher.launch(launch)
        #expect(bench.providerProcesses.count == 1)
        try await Tunnels(bench.services(epoch: 2)).resumeAll()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `a journal that can't be understood is left, and holds up nobody`() async throws {
        let bench = try Bench()
        try AtomicFile.write(Array("{".utf8), to: bench.directories.journal + "/x.json", mode: 0o600)
        // A write that was cut short is no record.
        let cut = bench.directories.journal + "/y.json" + AtomicFile.temporarySuffix
        try AtomicFile.write(Array("{".utf8), to: cut, mode: 0o600)
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = await tunnels.tunnel(of: configuration)
        #expect(await tunnel.view(of: configuration).session == before.session)
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(bench.leftovers == [bench.directories.journal + "/x.json"])
    }

    /// A session that runs, of a tunneld that is gone.
    private func abandonedSession(_ configuration: Configuration, _ bench: Bench) async throws -> SessionView {
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        let view = await tunnel.view(of: configuration)
        await tunnel.abandon()
        return view
    }
}
