import ControlAPI
import EventLoop
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
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
        #expect(await tunnel.view(of: configuration).notes.contains("descriptors secrets tun udp4 wg"))
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
        let last = bench.hub.subscribe { _, _ in true }.start.sequence
        await tunnel.abandon()
        // The tasks that the closing woke come before this one in the tunnel's queue.
        await tunnel.abandon()
        #expect(bench.hub.subscribe { _, _ in true }.start.sequence == last)
        #expect(try bench.journal.records().records.map(\.status) == [.connected])

        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let adopted = await tunnels.tunnel(of: configuration)
        await adopted.stop(session: nil)
        await adopted.idle()
    }

    @Test func `a session whose provider is gone goes on with another one`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        try end(process: before.providerProcess)

        // Its device went with its last descriptor.
        bench.network.state.withLock { $0.devices = [:] }
        let witness = Witness(bench.hub)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let told = try await witness.event { $0.status == .reasserting }
        #expect(told.reason == "The tunnel's provider ended while tunneld didn't run.")
        _ = try await witness.event { $0.status == .connected }
        let tunnel = await tunnels.tunnel(of: configuration)
        let view = await tunnel.view(of: configuration)
        #expect(view.session == before.session && view.interface == before.interface)
        #expect(view.listenPort == before.listenPort)
        #expect(view.notes.contains("descriptors secrets tun-node udp4 wg"))
        #expect(view.notes.count { $0 == "No IPv6." } == 1)
        #expect(!bench.network.calls.contains("revert"), "its routes stay, so that nothing leaks")
        await end(tunnel)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `a session of before the machine's start is undone and told`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        try end(process: before.providerProcess)
        var record = try #require(try bench.journal.records().records.first)
        record.boot = "another"
        try bench.journal.write(record)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let view = await tunnels.tunnel(of: configuration).view(of: configuration)
        #expect(view.status == .disconnected && view.session == nil)
        #expect(view.lastDisconnectError?.message == "The tunnel's provider ended while tunneld didn't run.")
        #expect(bench.leftovers.isEmpty)
    }

    @Test func `a session that was being stopped is not gone on with`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        _ = try await abandonedSession(configuration, bench)
        var record = try #require(try bench.journal.records().records.first)
        record.status = .disconnecting
        try bench.journal.write(record)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let view = await tunnels.tunnel(of: configuration).view(of: configuration)
        #expect(view.status == .disconnected && view.session == nil && view.lastDisconnectError == nil)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `that a session is to end is written down before anything of it is undone`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["ignore stop"])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        await tunnel.stop(session: nil)
        #expect(try bench.journal.records().records.map(\.status) == [.disconnecting])
        await tunnel.idle()
    }

    @Test func `why a session was being ended is told by the next tunneld`() async throws {
        let error = ControlError(
            .timedOut,
            "It didn't get ready.",
            underlying: ProviderError(domain: "d", code: 7, message: "No.")
        )
        let endings = [
            SessionRecord.Ending(error: error, reason: error.message),
            SessionRecord.Ending(error: nil, reason: "User 7 stopped it."),
        ]
        for ending in endings {
            let bench = try Bench()
            let configuration = try await bench.save()
            _ = try await abandonedSession(configuration, bench)
            var record = try #require(try bench.journal.records().records.first)
            record.status = .disconnecting
            record.ending = ending
            try bench.journal.write(record)
            let witness = Witness(bench.hub)
            let tunnels = Tunnels(bench.services(epoch: 2))
            try await tunnels.resumeAll()
            let told = try await witness.event { $0.status == .disconnected }
            #expect(told.error == ending.error && told.reason == (ending.error == nil ? ending.reason : nil))
            let view = await tunnels.tunnel(of: configuration).view(of: configuration)
            #expect(view.lastDisconnectError == ending.error && view.reason == told.reason)
            // And by those after it.
            let kept = LastErrorStore(folder: bench.directories.lastErrors).all()[configuration.identifier]
            #expect(kept?.error == ending.error)
        }
    }

    @Test func `why a session ends is written down with that`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["refuse start", "ignore stop"])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.event { $0.status == .disconnecting }
        let ending = try bench.journal.records().records.first?.ending
        #expect(ending?.error?.message == "The fake doesn't want to." && ending?.reason == ending?.error?.message)
        await tunnel.idle()
    }

    @Test func `a provider that hangs is replaced`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        kill(Int32(try #require(before.providerProcess)), SIGSTOP)
        let witness = Witness(bench.hub)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        #expect(try await witness.statuses(until: .connected) == [.reasserting, .connected])
        let tunnel = await tunnels.tunnel(of: configuration)
        let after = await tunnel.view(of: configuration)
        #expect(after.session == before.session)
        #expect(bench.providerProcesses == [Int32(try #require(after.providerProcess))])
        await end(tunnel)
    }

    // MARK: Versions

    @Test func `a provider of an older tunneld, which knows less and says more, is taken over`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["be old"])
        let before = try await abandonedSession(configuration, bench)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = await tunnels.tunnel(of: configuration)
        let view = await tunnel.view(of: configuration)
        #expect(view.status == .connected && view.session == before.session)
        #expect(view.providerProcess == before.providerProcess)
        // It knows neither PathChanged nor Ping, and is no worse for it.
        await tunnel.pathChanged()
        bench.network.packets.signal()
        try await Pause.sleep(for: .seconds(4))
        #expect(await tunnel.view(of: configuration).providerProcess == before.providerProcess)
        await end(tunnel)
    }

    @Test func `a provider of a version that isn't understood is left running and told, until it is stopped`()
        async throws
    {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["be of another version"])
        let before = try await abandonedSession(configuration, bench)
        let process = try #require(before.providerProcess)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = await tunnels.tunnel(of: configuration)
        let view = await tunnel.view(of: configuration)
        #expect(view.status == .reasserting && view.session == before.session)
        #expect(view.providerProcess == process && bench.providerProcesses == [Int32(process)])
        #expect(
            view.reason == "Its provider, process \(process), runs on, but can't be asked. It speaks version 0. "
                + "To have the installed one: tunnelctl down home, then up."
        )
        #expect(!bench.network.calls.contains("revert"))
        await end(tunnel)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `when a provider that can't be asked ends, the installed one takes its place`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["be of another version"])
        let before = try await abandonedSession(configuration, bench)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let witness = Witness(bench.hub)
        kill(Int32(try #require(before.providerProcess)), SIGKILL)
        _ = try await witness.event { $0.status == .connected }
        let tunnel = await tunnels.tunnel(of: configuration)
        #expect(await tunnel.view(of: configuration).session == before.session)
        await end(tunnel)
    }

    @Test func `a provider that tunneld didn't live to write down is ended`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let before = try await abandonedSession(configuration, bench)
        var record = try #require(try bench.journal.records().records.first)
        record.process = nil
        record.user = ProviderUser.range.lowerBound
        record.status = .reasserting
        record.since = Timestamp(milliseconds: 1000)
        try bench.journal.write(record)
        let witness = Witness(bench.hub)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        // It was so before, and is so since then.
        let told = try await witness.event { $0.status == .reasserting }
        #expect(told.reason == "The tunnel's provider was being replaced when tunneld ended.")
        #expect(told.snapshot?.since == record.since)
        _ = try await witness.event { $0.status == .connected }
        let tunnel = await tunnels.tunnel(of: configuration)
        let after = await tunnel.view(of: configuration)
        #expect(after.session == before.session && after.providerProcess != before.providerProcess)
        #expect(bench.providerProcesses == [after.providerProcess.map(Int32.init)])
        await end(tunnel)
    }

    @Test func `a tunnel whose configuration is gone is ended, for nobody could stop it`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        _ = try await abandonedSession(configuration, bench)
        #expect(!bench.providerProcesses.isEmpty && !bench.network.devices.isEmpty)
        let path = "\(bench.directories.configurations)/\(configuration.identifier).json"
        try AtomicFile.remove(path)
        let tunnels = Tunnels(bench.services(epoch: 2, store: try storeAnew(bench)))
        try await tunnels.resumeAll()
        #expect(await tunnels.existing(configuration.identifier) == nil)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        #expect(try bench.journal.records().records.isEmpty)
    }

    @Test(arguments: [false, true]) func `what a lost configuration had blocked stays blocked`(isWiped: Bool)
        async throws
    {
        let bench = try Bench()
        var configuration = try await bench.save()
        configuration.includeAllNetworks = true
        configuration = try await bench.replace(configuration)
        _ = try await abandonedSession(configuration, bench)
        try AtomicFile.remove("\(bench.directories.configurations)/\(configuration.identifier).json")
        if isWiped { try FolderRemoval.remove(bench.directories.history) }
        try await Tunnels(bench.services(epoch: 2, store: try storeAnew(bench))).resumeAll()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        #expect(bench.block.members == [configuration.identifier: BlockPolicy.bare(configuration)])
    }

    @Test func `a tunnel whose configuration was disabled in the last moment is ended, and not as a failure`()
        async throws
    {
        let bench = try Bench()
        var configuration = try await bench.save()
        configuration.includeAllNetworks = true
        configuration = try await bench.replace(configuration)
        _ = try await abandonedSession(configuration, bench)
        configuration.enabled = false
        configuration = try await bench.replace(configuration)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let view = await tunnels.tunnel(of: configuration).view(of: configuration)
        #expect(view.status == .disconnected && view.lastDisconnectError == nil)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty && bench.block.members.isEmpty)
    }

    @Test func `an error of a session before the last start is told by no later tunneld`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let record = LastErrorStore.Record(error: ControlError(.providerFailed, "Old."), time: .now())
        try bench.services().lastErrors.keep(record, of: configuration.identifier)
        _ = try await abandonedSession(configuration, bench)
        #expect(bench.services().lastErrors.all().isEmpty)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        await end(tunnels.tunnel(of: configuration))
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

    private func end(_ tunnel: Tunnel) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }

    /// Kills a provider whose tunneld is gone, and collects it, as init would: one that stays keeps exit tests waiting.
    private func end(process: Int?) throws {
        let pid = Int32(try #require(process))
        kill(pid, SIGKILL)
        #expect(waitpid(pid, nil, 0) == pid)
    }

    /// What another tunneld finds on disk.
    private func storeAnew(_ bench: Bench) throws -> ConfigurationStore {
        ConfigurationStore(
            bench.directories,
            keychain: bench.keychain,
            contents: try StoreContents.load(bench.directories, bench.keychain),
            incidents: bench.incidents
        )
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
