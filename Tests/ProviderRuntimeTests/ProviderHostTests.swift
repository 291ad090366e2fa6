import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing
import VarlinkCore
import VarlinkSocket

@testable import ProviderRuntime

struct ProviderHostTests {
    @Test func `the first reply of an attach is the present state`() async throws {
        try await withHost { host in
            let (first, _) = try await host.attach(epoch: 1)
            #expect(first.version == ProviderCalls.version)
            #expect(first.state?.phase == .waiting)
        }
    }

    @Test(arguments: ["Start", "Stop", "Status", "Ping", "PathChanged", "Sleep", "Wake", "Supply", "HandleMessage"])
    func `nothing is obeyed before an attach`(method: String) async throws {
        try await withHost { host in
            let error = await #expect(throws: VarlinkError.self) { try await host.call(method) }
            #expect(error?.name == "org.tunneld.PermissionDenied")
        }
    }

    @Test(arguments: [
        (1, 5, "wrong", "PermissionDenied"), (2, 5, "nonce", "VersionMismatch"), (1, 4, "nonce", "Unavailable"),
    ])
    func `an attach that isn't right is refused by name`(
        version: Int,
        epoch: UInt64,
        nonce: String,
        expected: String
    ) async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 5)
            let parameters = ProviderCalls.AttachParameters(version: version, epoch: epoch, nonce: nonce)
            let connection = try await VarlinkConnection.connect(to: host.folder.controlPath)
            let stream = try await connection.callMore("\(ProviderCalls.interface).Attach", parameters)
            let iterator = stream.makeAsyncIterator()
            let error = await #expect(throws: VarlinkError.self) { _ = try await iterator.next() }
            #expect(error?.name == "org.tunneld.\(expected)")
            try await host.call("Ping")
        }
    }

    @Test func `a ping is answered when what carries the packets has had its turn`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            await host.tunnel.hang()
            await #expect(throws: VarlinkClientError.timedOut) {
                try await host.call("Ping", timeout: .milliseconds(100))
            }
            await host.tunnel.goOn()
            try await host.call("Ping")
        }
    }

    @Test func `a sleep is answered when the tunnel is ready for it, and holds up no other call`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            await host.tunnel.hang()
            async let asleep: Void = host.call("Sleep")
            #expect(await eventually { await host.tunnel.calls.contains("sleep") })
            try await host.call("Wake")
            await host.tunnel.goOn()
            try await asleep
        }
    }

    @Test func `an attach that doesn't ask for more is told to`() async throws {
        try await withHost { host in
            let parameters = ProviderCalls.AttachParameters(version: 1, epoch: 1, nonce: "nonce")
            await #expect(throws: VarlinkError.expectedMore) { try await host.call("Attach", parameters) }
        }
    }

    @Test func `a message is answered when the tunnel does, and holds up no other call`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            #expect(try await ask(host, "abc") == "cba")
            #expect(try await ask(host, "") == "")
            async let held = ask(host, "hold")
            #expect(await eventually { await host.tunnel.calls.contains("message hold") })
            try await host.call("Ping")
            #expect(try await ask(host, "release") == nil)
            #expect(try await held == "held")
            let none = await #expect(throws: VarlinkError.self) { try await ask(host, "none") }
            #expect(none?.name == "org.tunneld.MessagesUnsupported")
            // One that the tunnel forgets is answered all the same.
            let forgotten = await #expect(throws: VarlinkError.self) { try await ask(host, "forget") }
            #expect(forgotten?.name == "org.tunneld.InternalError")
        }
    }

    private func ask(_ host: HostUnderTest, _ text: String) async throws -> String? {
        let parameters = MessageCalls.HandleParameters(message: DataValue(text.utf8))
        let reply: MessageCalls.Reply = try await host.ask("HandleMessage", parameters)
        return reply.reply.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test func `a later attach ends the replies to the one before`() async throws {
        try await withHost { host in
            let (_, replies) = try await host.attach(epoch: 1)
            _ = try await host.attach(epoch: 2)
            let error = await #expect(throws: VarlinkError.self) { _ = try await replies.next() }
            #expect(error?.name == "org.tunneld.Unavailable")
        }
    }

    @Test func `another user is not heard`() async throws {
        try await withHost(controller: 12345) { host in
            let error = await #expect(throws: VarlinkClientError.self) { _ = try await host.attach(epoch: 1) }
            #expect(error == .disconnected)
        }
    }

    @Test func `descriptors sent before a start are the tunnel's and come back to hold duplicates of`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            let door = try host.door()
            let (tun, wg) = (try host.file("tun"), try host.file("wg"))
            try host.send(tun, "tun", on: door)
            try host.send(wg, "wg", on: door)
            _ = try await host.start(descriptors: ["tun", "wg"])
            #expect(await host.tunnel.taken.keys.sorted() == ["tun", "wg"])
            #expect(try host.received(2, on: door) == ["tun": "tun", "wg": "wg"])
            // A tunneld that comes later, and has lost them, gets them anew.
            let later = try host.door()
            _ = try await host.attach(epoch: 2)
            #expect(try host.received(2, on: later) == ["tun": "tun", "wg": "wg"])
        }
    }

    @Test func `a start that names what was not sent is refused and may come again`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            let error = await #expect(throws: VarlinkError.self) { try await host.start(descriptors: ["tun"]) }
            #expect(error?.name == "org.tunneld.InvalidParameter")
            #expect(await host.tunnel.calls == [])
            _ = try await host.start(descriptors: [])
            #expect(await host.tunnel.calls == ["start home"])
        }
    }

    @Test func `the tunnel's own errors are told whole`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            let error = try #require(
                await #expect(throws: VarlinkError.self) { try await host.start(name: "bad", descriptors: []) }
            )
            #expect(error.name == "org.tunneld.ConfigurationInvalid")
            #expect(try error.decode(ControlError.self).field == "name")
        }
    }

    @Test func `a request goes to each tunneld until one supplies it`() async throws {
        try await withHost { host in
            var (_, replies) = try await host.attach(epoch: 1)
            await host.tunnel.ask("vpn.example")
            let asked = ProviderRequest(number: 1, kind: .resolve, name: "vpn.example")
            #expect(try await host.next(&replies).request == asked)
            var (_, later) = try await host.attach(epoch: 2)
            #expect(try await host.next(&later).request == asked)
            let supply = ProviderCalls.SupplyParameters(request: 1, addresses: ["192.0.2.1", "2001:db8::1"])
            try await host.call("Supply", supply)
            #expect(await host.tunnel.answers == ["vpn.example 192.0.2.1,2001:db8::1"])
            let error = await #expect(throws: VarlinkError.self) { try await host.call("Supply", supply) }
            #expect(error?.name == "org.tunneld.NotFound")
        }
    }

    @Test func `what can't be supplied is told to the tunnel`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            await host.tunnel.ask("vpn.example")
            let failure = ControlError(.notFound, "No such name.")
            try await host.call("Supply", ProviderCalls.SupplyParameters(request: 1, error: failure))
            #expect(await host.tunnel.answers == ["vpn.example failed: No such name."])
        }
    }

    @Test func `the end of a controller changes nothing for the tunnel`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            _ = try await host.start(descriptors: [])
            await host.closeAll()
            let (first, _) = try await host.attach(epoch: 2)
            #expect(first.state?.phase == .starting)
            #expect(first.state?.session == "session")
            #expect(await host.tunnel.calls == ["start home"])
        }
    }

    @Test func `changes of one turn are told once`() async throws {
        try await withHost { host in
            var (_, replies) = try await host.attach(epoch: 1)
            await host.tunnel.change(times: 100)
            #expect(try await host.next(&replies).state?.phase == .ready)
            await host.tunnel.ask("marker")
            #expect(try await host.next(&replies).request?.name == "marker")
        }
    }

    @Test func `each call goes to the tunnel`() async throws {
        try await withHost { host in
            _ = try await host.attach(epoch: 1)
            _ = try await host.start(descriptors: [])
            try await host.call("SettingsApplied", ProviderCalls.SettingsAppliedParameters(mtu: 1420))
            try await host.call("PathChanged")
            try await host.call("PathChanged", ProviderCalls.PathChangedParameters(available: true, network: "home"))
            try await host.call("Sleep")
            try await host.call("Wake")
            let update = ProviderCalls.UpdateParameters(configuration: [:], descriptors: [])
            let reply: ProviderCalls.SettingsReply = try await host.ask("UpdateConfiguration", update)
            #expect(reply.settings.table == "off")
            let status: ProviderCalls.StatusReply = try await host.ask("Status", NoParameters())
            #expect(status.state.session == "session")
            #expect(
                await host.tunnel.calls == [
                    "start home", "applied 1420", "path -", "path home", "sleep", "wake", "update",
                ]
            )
        }
    }

    @Test func `a stop is answered, told to the monitor, and ends the process`() async throws {
        try await withHost { host in
            var (_, replies) = try await host.attach(epoch: 1)
            _ = try await host.start(descriptors: [])
            try await host.call("Stop", ProviderCalls.StopParameters(reason: "enough"))
            var phases: [ProviderState.Phase] = []
            while phases.last != .stopping, let reply = try? await host.next(&replies) {
                if let state = reply.state { phases.append(state.phase) }
            }
            #expect(phases.last == .stopping)
            #expect(await host.ended() == 0)
            #expect(await host.tunnel.calls == ["start home", "stop enough"])
            #expect(!FileManager.default.fileExists(atPath: host.folder.controlPath))
            #expect(!FileManager.default.fileExists(atPath: host.folder.descriptorsPath))
        }
    }

    @Test func `a provider that nobody starts ends by itself`() async throws {
        try await withHost(patience: .milliseconds(50)) { host in #expect(await host.ended() == 1) }
    }

    @Test func `every method of the interface is answered, and no other`() throws {
        let service = try ProviderService.make(version: "1") { nil as ProviderHost<FakeTunnel>? }
        #expect(service.description.disagreements(with: service.methods) == [])
    }

    private func withHost(
        controller: UInt32 = getuid(),
        patience: Interval = .seconds(600),
        _ body: (HostUnderTest) async throws -> Void
    ) async throws {
        let host = try await HostUnderTest(controller: controller, patience: patience)
        do {
            try await body(host)
        } catch {
            await host.close()
            throw error
        }
        await host.close()
    }
}
