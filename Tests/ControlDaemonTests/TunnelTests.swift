import ControlAPI
import Glibc
import Keychain
import HostNetwork
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import ControlDaemon

/// Sessions with a real provider process that carries nothing.
@Suite(.timeLimit(.minutes(2))) struct TunnelTests {
    @Test func `a session goes from start to connected and leaves nothing after its stop`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        let start = try await tunnel.start(configuration)
        #expect(!start.alreadyRunning)
        #expect(try await witness.statuses(until: .connected) == [.connecting, .connected])

        let view = await tunnel.view(of: configuration)
        #expect(view.status == .connected && view.stage == .answered)
        #expect(view.session == start.session)
        #expect(view.interface == InterfaceName.candidate(name: "home", identifier: configuration.identifier))
        #expect(view.addresses == ["192.0.2.1/32"] && view.routes == ["198.51.100.0/24"] && view.mtu == 1400)
        #expect(view.listenPort == 50_000)
        #expect(view.peers.map(\.publicKey) == ["a"])
        #expect(view.counters?.receivedBytes == 11)
        #expect(view.notes.contains("No IPv6."))
        #expect(view.notes.contains("descriptors secrets tun-node udp4 wg"))
        #expect(view.notes.contains("secrets 1"))
        let process = try #require(view.providerProcess)
        #expect(bench.providerProcesses == [Int32(process)])

        await tunnel.stop(session: nil)
        #expect(try await witness.statuses(until: .disconnected) == [.disconnecting, .disconnected])
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty)
        #expect(bench.providerProcesses.isEmpty)
        let after = await tunnel.view(of: configuration)
        #expect(after.session == nil && after.lastDisconnectError == nil && after.interface == nil)
    }

    @Test func `a stop and a new start at once are told one after the other, with who stopped it`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        await tunnel.stop(session: nil, reason: "User 7 stopped it.")
        #expect(try await !tunnel.start(configuration).alreadyRunning)
        var reasons: [String?] = []
        var statuses: [TunnelStatus] = []
        _ = try await witness.event { event in
            if statuses.last != event.status, let status = event.status {
                statuses.append(status)
                reasons.append(event.reason)
            }
            return event.status == .connected
        }
        #expect(statuses == [.disconnecting, .disconnected, .connecting, .connected])
        #expect(reasons.prefix(3) == ["User 7 stopped it.", "User 7 stopped it.", nil])
        await end(tunnel)
    }

    @Test func `an interface that is gone is made anew, with another provider on it`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let before = await tunnel.view(of: configuration)
        let witness = Witness(bench.hub)
        bench.network.state.withLock { $0.devices = [:] }
        await tunnel.checkInterface()
        let name = try #require(before.interface)
        let told = try await witness.event { $0.status == .reasserting }
        #expect(told.reason == "The interface \(name) was deleted from outside.")
        _ = try await witness.statuses(until: .connected)
        #expect(Array(bench.network.devices.keys) == [name])
        let after = await tunnel.view(of: configuration)
        #expect(after.session == before.session && after.interface == name)
        #expect(after.providerProcess != before.providerProcess)
        #expect(after.notes.contains("descriptors secrets tun-node udp4 wg"))
        #expect(bench.network.calls.count { $0 == "release" } == 2)
        await end(tunnel)
        #expect(bench.leftovers.isEmpty)
    }

    @Test func `an interface that is renamed is gone on with under its new name`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let before = await tunnel.view(of: configuration)
        let old = try #require(before.interface)
        bench.network.state.withLock { state in
            state.newNames = [old: "other"]
            state.devices["other"] = state.devices.removeValue(forKey: old)
        }
        // Being down for it costs routes.
        bench.network.state.withLock { $0.missing = ["the route to 10.0.0.0/8"] }
        await tunnel.checkInterface()
        let after = await tunnel.view(of: configuration)
        #expect(after.status == .connected && after.interface == "other" && after.since == before.since)
        #expect(after.providerProcess == before.providerProcess)
        #expect(after.notes.contains("The interface \(old) was renamed to other from outside."))
        #expect(bench.network.calls.count { $0.hasPrefix("restore") } == 1)
        let record = try #require(try bench.journal.records().records.first)
        #expect(record.interface == "other" && record.network.interface?.name == "other")
        let sockets = try FileSystem.names(inFolder: bench.temporary.path + "/wg")
        #expect(sockets == ["other.sock"])
        await end(tunnel)
        #expect(bench.network.devices.isEmpty)
        #expect(bench.leftovers.isEmpty)
    }

    @Test func `an interface that is switched off is switched on again, with its settings`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        bench.network.state.withLock { $0.isDown = true }
        await tunnel.checkInterface()
        #expect(await tunnel.view(of: configuration).status == .connected)
        #expect(bench.network.calls.count { $0.hasPrefix("restore") } == 1)
        await end(tunnel)
    }

    @Test func `what is taken away while it is put back is put back too`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        await tunnel.mend(isFresh: true)
        #expect(!bench.network.calls.contains { $0.hasPrefix("restore") }, "nothing is missing")
        bench.network.state.withLock { state in
            state.missing = ["the routing rule 29995"]
            state.meddling = 3
            state.millisecondsToApply = 0
        }
        await tunnel.mend(isFresh: true)
        #expect(await eventually { bench.network.state.withLock { $0.missing.isEmpty } })
        #expect(bench.network.calls.count { $0.hasPrefix("restore") } == 4)
        // One line for all of it, a moment later.
        let line = "Put back what was removed from outside: the routing rule 29995."
        #expect(await eventually { bench.logged.messages.contains(line) })
        try await Task.sleep(for: .milliseconds(500))
        #expect(bench.logged.messages.count { $0 == line } == 1)
        await end(tunnel)
    }

    @Test func `what can't be put back is an error until it is there again`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        bench.network.state.withLock { $0.missing = ["the routing rule 29995"] }
        bench.network.fail("restore")
        await tunnel.mend(isFresh: true)
        let reason = "The routing rule 29995 can't be put back. The fake network can't restore 192.0.2.1/32 50000."
        #expect(try await witness.event { $0.status == .reasserting }.reason == reason)
        let view = await tunnel.view(of: configuration)
        #expect((view.status, view.reason) == (.reasserting, reason))
        // No use in trying again soon.
        await tunnel.mend(isFresh: true)
        #expect(bench.network.calls.count { $0.hasPrefix("restore") } == 1)
        bench.network.state.withLock { $0.missing = [] }
        await tunnel.mend(isFresh: false)
        #expect(await tunnel.view(of: configuration).status == .connected)
        await end(tunnel)
    }

    @Test func `the provider runs as the device's owner, without privileges, and can't read the state`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let process = try #require(await tunnel.view(of: configuration).providerProcess)
        let status = try FileSystem.contents(ofFile: "/proc/\(process)/status", limit: 1 << 16)
        let privileges = try #require(ThreadPrivileges(parsing: String(decoding: status, as: UTF8.self)))
        #expect(privileges.faults.isEmpty)
        let user = try #require(bench.network.devices.values.first)
        #expect(privileges.users == [user, user, user, user])
        #expect(ProviderUser.range.contains(user))
        let environment = try FileSystem.contents(ofFile: "/proc/\(process)/environ", limit: 1 << 16)
        #expect(String(decoding: environment, as: UTF8.self).contains("TUNNEL_ID=\(configuration.identifier)"))
        await end(tunnel)
    }

    @Test(
        arguments: [
            ("refuse start", "The fake doesn't want to.", ControlError.Name.providerFailed),
            ("exit in start", "The tunnel's provider ended.", .providerFailed),
        ]
    )
    func `a provider that fails the start leaves its error and nothing else`(
        behaviour: String,
        message: String,
        name: ControlError.Name
    ) async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: [behaviour])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        #expect(try await witness.statuses(until: .disconnected) == [.connecting, .disconnecting, .disconnected])
        let error = try #require(await tunnel.view(of: configuration).lastDisconnectError)
        #expect(error.message == message)
        #expect(error.name == name)
        if behaviour == "exit in start" { #expect(error.reason?.contains("exited with status 3") == true) }
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test(arguments: ["name", "device", "sockets", "node", "release", "apply"])
    func `a network that fails the start is taken back whole`(call: String) async throws {
        let bench = try Bench()
        bench.network.fail(call)
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .disconnected)
        #expect(await tunnel.view(of: configuration).lastDisconnectError?.name == .networkSettingsFailed)
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        // The next start works, in a new process.
        bench.network.fail(nil)
        try await start(tunnel, configuration, bench)
        await end(tunnel)
    }

    @Test func `a start that hangs is ended at its limit, and the error says where`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in start"])
        let tunnel = Tunnel(configuration, bench.services(startTimeout: .seconds(1)))
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .disconnected)
        let error = try #require(await tunnel.view(of: configuration).lastDisconnectError)
        #expect(error.name == .timedOut)
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `a stop while starting ends the start, and a provider that ignores it is killed`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in start", "ignore stop"])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.event { $0.snapshot?.stage == .providerStarted }
        await tunnel.stop(session: nil)
        #expect(try await witness.statuses(until: .disconnected) == [.disconnecting, .disconnected])
        await tunnel.idle()
        #expect(await tunnel.view(of: configuration).lastDisconnectError == nil)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `a secret that is gone fails the start and leaves the configuration`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        for reference in StoreContents.references(in: configuration) { try bench.keychain.remove(reference) }
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .disconnected)
        #expect(await tunnel.view(of: configuration).lastDisconnectError?.name == .secretUnavailable)
        #expect(await bench.store.configuration(configuration.identifier) == configuration)
    }

    @Test func `a killed provider is replaced on the same descriptors, with what it had told`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let before = await tunnel.view(of: configuration)
        let witness = Witness(bench.hub)
        kill(Int32(try #require(before.providerProcess)), SIGKILL)
        let lost = try await witness.event { $0.status == .reasserting }
        #expect(lost.reason?.contains("was ended by signal 9 (Killed)") == true)
        #expect(!bench.network.devices.isEmpty, "the interface stays")
        _ = try await witness.statuses(until: .connected)

        let after = await tunnel.view(of: configuration)
        #expect(after.session == before.session && after.interface == before.interface)
        #expect(after.providerProcess != before.providerProcess)
        #expect(after.notes.contains("descriptors secrets tun udp4 wg"))
        #expect(after.notes.contains("timestamp 400000006955b9000a0b0c0d"))
        #expect(after.notes.contains(#"hints {"a": "192.0.2.7:7"}"#))
        #expect(after.notes.contains(#"counters {"a": {"receivedBytes": 1, "sentBytes": 2}}"#))
        #expect(after.providerLosses?.count == 1)
        #expect(after.providerLosses?.reason.contains("was ended by signal 9 (Killed)") == true)
        #expect(bench.network.calls.filter { $0 == "device" }.count == 1)
        await end(tunnel)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `what a provider started dies with it, before another one is there`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["fork a child"])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let before = bench.providerProcesses
        #expect(before.count == 2)
        let witness = Witness(bench.hub)
        kill(Int32(try #require(await tunnel.view(of: configuration).providerProcess)), SIGKILL)
        _ = try await witness.event { $0.status == .connected }
        #expect(bench.providerProcesses.count == 2 && Set(before).isDisjoint(with: bench.providerProcesses))
        await end(tunnel)
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `a provider that dies again and again ends the session`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["die when ready"])
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .disconnected)
        let error = try #require(await tunnel.view(of: configuration).lastDisconnectError)
        #expect(error.message == "The tunnel broke 5 times within 60 seconds, and is given up.")
        #expect(error.reason?.hasPrefix("5 times: The tunnel's provider ended. Process ") == true)
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }

    @Test func `what a provider asks for is supplied`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["resolve", "ask for sockets"])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let view = try await view(of: tunnel, configuration) { view in
            view.notes.count(where: { $0.hasPrefix("supplied") }) == 2
        }
        #expect(view.notes.contains("supplied 1 ['192.0.2.9'] None None None"))
        #expect(view.notes.contains("supplied 2 None 4242 ['udp4'] None"))
        #expect(view.listenPort == 4242)
        let followed = await eventually { bench.network.calls.last == "apply 192.0.2.1/32 4242" }
        #expect(followed, "the port's rules follow it")
        await end(tunnel)
    }

    @Test func `a saved change is applied live, with its new secrets`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save(more: ["addresses": ["192.0.2.1/32"]])
        let old = StoreContents.references(in: configuration)
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        configuration = changed(configuration, ["addresses": ["192.0.2.2/32"], "keyReference": "new:key"])
        configuration = try await bench.replace(configuration, secrets: ["new:key": "sheep"])
        let view = try await view(of: tunnel, configuration) { $0.generation == 2 }
        #expect(view.addresses == ["192.0.2.2/32"] && view.generation == 2 && !view.newerConfigurationWaiting)
        #expect(view.notes.contains("updated 192.0.2.2/32"))
        // The earlier generation can be restored, with its secret.
        #expect(try bench.keychain.references() == old.union(StoreContents.references(in: configuration)))
        await end(tunnel)
    }

    @Test func `a change that the network can't take leaves the provider with what it had`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save(more: ["addresses": ["192.0.2.1/32"]])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        bench.network.fail("apply")
        configuration = try await bench.replace(changed(configuration, ["addresses": ["192.0.2.3/32"]]))
        let view = try await view(of: tunnel, configuration) { $0.newerConfigurationWaiting }
        #expect(view.addresses == ["192.0.2.1/32"] && view.generation == 1)
        let updates = view.notes.filter { $0.hasPrefix("updated") }
        #expect(updates == ["updated 192.0.2.3/32", "updated 192.0.2.1/32"])
        #expect(
            view.notes.contains {
                $0.hasPrefix(
                    "Generation 2 is stored and not in force: the one before runs on. The fake network can't apply"
                )
            },
            "\(view.notes)"
        )
        // The next change that can be taken is, and says no more of the other.
        bench.network.fail(nil)
        configuration = try await bench.replace(changed(configuration, ["addresses": ["192.0.2.4/32"]]))
        let mended = try await self.view(of: tunnel, configuration) { $0.generation == 3 }
        #expect(!mended.newerConfigurationWaiting && !mended.notes.contains { $0.hasPrefix("Generation") })
        await end(tunnel)
    }

    @Test func `a change that the provider doesn't get to the end of is taken back from the network too`() async throws
    {
        let bench = try Bench()
        var configuration = try await bench.save(more: ["addresses": ["192.0.2.1/32"]])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let members: [String: JSONValue] = ["addresses": ["192.0.2.3/32"], "refuseApplied": true]
        configuration = try await bench.replace(changed(configuration, members))
        let view = try await view(of: tunnel, configuration) { $0.newerConfigurationWaiting }
        #expect(view.addresses == ["192.0.2.1/32"] && view.generation == 1)
        #expect(view.notInForce?.generation == 2)
        #expect(bench.network.calls.filter { $0.hasPrefix("apply") }.last?.hasPrefix("apply 192.0.2.1/32") == true)
        await end(tunnel)
    }

    @Test func `a policy that the network can't take whole is taken back from it`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        bench.network.state.withLock { $0.halfDone = 1 }
        configuration.enforceRoutes = true
        configuration = try await bench.replace(configuration)
        let view = try await view(of: tunnel, configuration) { $0.newerConfigurationWaiting }
        #expect(view.generation == 1 && view.notInForce?.generation == 2)
        #expect(bench.network.state.withLock { $0.policy } == RoutingPolicy())
        await end(tunnel)
    }

    @Test func `what is saved while the provider is being replaced is in force after that`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save(more: ["addresses": ["192.0.2.1/32"]])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let witness = Witness(bench.hub)
        kill(Int32(try #require(await tunnel.view(of: configuration).providerProcess)), SIGKILL)
        _ = try await witness.event { $0.status == .reasserting }
        configuration = try await bench.replace(changed(configuration, ["addresses": ["192.0.2.3/32"]]))
        await tunnel.configurationChanged()
        let view = try await view(of: tunnel, configuration) { $0.generation == 2 }
        #expect(view.addresses == ["192.0.2.3/32"] && view.notInForce == nil)
        await end(tunnel)
    }

    @Test func `a change that the provider refuses waits, and what runs keeps its secrets`() async throws {
        let bench = try Bench()
        var configuration = try await bench.save(behave: ["refuse update"])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        configuration = changed(configuration, ["addresses": ["192.0.2.3/32"], "keyReference": "new:key"])
        configuration = try await bench.replace(configuration, secrets: ["new:key": "sheep"])
        let view = try await view(of: tunnel, configuration) { $0.newerConfigurationWaiting }
        #expect(view.addresses == ["192.0.2.1/32"] && view.generation == 1 && view.newerConfigurationWaiting)
        let note =
            "Generation 2 is stored and not in force: the one before runs on. The fake can't change. It was told to."
        #expect(view.notes.contains(note), "\(view.notes)")
        // A new provider goes on with the configuration that runs.
        let witness = Witness(bench.hub)
        kill(Int32(try #require(view.providerProcess)), SIGKILL)
        _ = try await witness.statuses(until: .connected)
        #expect(await tunnel.view(of: configuration).notes.contains("secrets 1"))
        await end(tunnel)
        #expect(try bench.keychain.references().isSuperset(of: StoreContents.references(in: configuration)))
        try await start(tunnel, configuration, bench)
        #expect(await tunnel.view(of: configuration).generation == 2)
        await end(tunnel)
    }

    @Test func `a change saved while the tunnel starts is applied when it is ready`() async throws {
        let bench = try Bench()
        let first = try await bench.save()
        let second = try await bench.replace(changed(first, ["addresses": ["192.0.2.4/32"]]))
        let tunnel = Tunnel(first, bench.services())
        try await start(tunnel, first, bench)
        let view = try await view(of: tunnel, second) { $0.generation == 2 }
        #expect(view.addresses == ["192.0.2.4/32"])
        await end(tunnel)
    }

    @Test func `settings that come from two sides are put in force one after the other, the newest last`() async throws
    {
        let bench = try Bench()
        var configuration = try await bench.save(behave: ["ask for sockets on update"])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        configuration = try await bench.replace(changed(configuration, ["addresses": ["192.0.2.5/32"]]))
        let view = try await view(of: tunnel, configuration) { $0.generation == 2 && $0.listenPort == 4343 }
        #expect(view.addresses == ["192.0.2.5/32"])
        await end(tunnel)
        #expect(!bench.network.calls.contains("overlap"))
        #expect(bench.network.calls.last { $0.hasPrefix("apply") } == "apply 192.0.2.5/32 4343")
        #expect(bench.network.calls.last == "revert", "nothing comes after taking everything back")
    }

    @Test func `a removed configuration's tunnel is stopped and never starts again`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        await tunnel.retire()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        await expect(throws: Named(.configurationUnknown)) { try await tunnel.start(configuration) }
    }

    @Test func `what a client gives along with a start reaches the provider and no file`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration, options: ["token": "badger"])
        _ = try await witness.statuses(until: .connected)
        #expect(await tunnel.view(of: configuration).notes.contains(#"options {"token": "badger"}"#))
        let journal = "\(bench.directories.journal)/\(configuration.identifier).json"
        let text = String(decoding: try FileSystem.contents(ofFile: journal, limit: 1 << 20), as: UTF8.self)
        #expect(!text.contains("badger"))
        await end(tunnel)
    }

    @Test func `name servers are asked for before anything is made, and shown as nobody has put them in force`()
        async throws
    {
        let bench = try Bench()
        let dns: JSONValue = ["servers": ["192.0.2.53"], "searchDomains": [], "routeOnlyDomains": [], "applied": true]
        let configuration = try await bench.save(more: ["dns": dns])
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        let view = await tunnel.view(of: configuration)
        #expect(view.dns?.servers == ["192.0.2.53"] && view.dns?.applied == false)
        #expect(view.dns?.backend == nil && view.dns?.effective == nil)
        let calls = bench.network.calls
        let asked = try #require(calls.firstIndex(of: "checkDNS"))
        #expect(try asked < #require(calls.firstIndex(of: "device")))
        await end(tunnel)
    }

    @Test func `a change of the network is told to the provider`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        try await start(tunnel, configuration, bench)
        await tunnel.pathChanged()
        #expect(await tunnel.view(of: configuration).notes.contains("path changed"))
        await end(tunnel)
    }

    private func changed(_ configuration: Configuration, _ members: [String: JSONValue]) -> Configuration {
        var result = configuration
        let content = configuration.provider?.configuration.object ?? [:]
        result.provider?.configuration = .object(content.merging(members) { $1 })
        return result
    }

    /// The first view that fits, after the tunnel was told that something was saved; the last one after a minute.
    private func view(
        of tunnel: Tunnel,
        _ stored: Configuration,
        where fits: (SessionView) -> Bool
    ) async throws -> SessionView {
        await tunnel.configurationChanged()
        var view = await tunnel.view(of: stored)
        _ = await eventually {
            view = await tunnel.view(of: stored)
            return fits(view)
        }
        return view
    }

    private func start(_ tunnel: Tunnel, _ configuration: Configuration, _ bench: Bench) async throws {
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        let event = try await witness.event { $0.status == .connected || $0.status == .disconnected }
        try #require(event.status == .connected, "\(String(describing: event.error))")
    }

    private func end(_ tunnel: Tunnel) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
    }
}
