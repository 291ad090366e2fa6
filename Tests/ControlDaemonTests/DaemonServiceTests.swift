import ControlAPI
import Dispatch
import FoundationEssentials
import Glibc
import HostNetwork
import Journal
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing
import VarlinkCore
import VarlinkSocket

@testable import ControlDaemon

/// tunneld's interfaces, called as clients call them, over a socket.
@Suite(.timeLimit(.minutes(2))) struct DaemonServiceTests {
    private let bench: Bench
    private let service: VarlinkService
    private let tunnels: Tunnels
    private let announcer: ConfigurationAnnouncer

    init() throws {
        bench = try Bench()
        tunnels = Tunnels(bench.services())
        let announcer = ConfigurationAnnouncer(tunnels: tunnels, hub: bench.hub)
        self.announcer = announcer
        service = try DaemonService.make(
            store: bench.store,
            keychain: bench.keychain,
            catalogue: bench.catalogue,
            tunnels: tunnels,
            hub: bench.hub,
            settled: { await announcer.settled() },
            permission: Permission(allowsAllUsers: false),
            incidents: Self.incidents,
            network: NetworkObserver(bus: nil) { NetworkSnapshot() },
            log: bench.services().log
        )
    }

    private static var incidents: Incidents {
        let incidents = Incidents()
        incidents.add("Something.")
        return incidents
    }

    @Test func `every method that the interface files declare is answered, and no other`() {
        #expect(service.description.disagreements(with: service.methods).isEmpty)
    }

    @Test func `the answer to a save comes when the block stands, or says that it doesn't`() async throws {
        await bench.store.onChange { [announcer] in announcer.announce($0) }
        bench.block.state.withLock { $0.pause = .milliseconds(100) }
        let client = try await connect()
        var configuration = provider(["keyReference": "new:key"])
        configuration.includeAllNetworks = true
        configuration.persistentBlock = true
        let reply = try await save(client, configuration)
        #expect(Set(bench.block.members.keys) == [reply.identifier])
        #expect(reply.warnings == ["It is exclusive, as everything with includeAllNetworks is."])
        bench.block.state.withLock { $0.isBroken = true }
        configuration.name = "work"
        let other = try await save(client, configuration)
        #expect(other.warnings.last?.hasPrefix("Traffic is NOT blocked") == true)
    }

    @Test func `a configuration goes from Save to Load, LoadAll, Start, Status and Remove`() async throws {
        let client = try await connect()
        let reply: ConfigurationsCalls.SaveReply = try await save(client, provider(["keyReference": "new:key"]))
        #expect(reply.generation == 1 && reply.warnings.isEmpty)
        let loaded: ConfigurationsCalls.LoadReply = try await client.call(
            "org.tunneld.Configurations.Load",
            ConfigurationsCalls.LoadParameters(identifier: reply.identifier)
        )
        #expect(loaded.configuration?.name == "home")

        var all: [ConfigurationsCalls.LoadReply] = []
        for try await item in try await client.callMore("org.tunneld.Configurations.LoadAll") {
            all.append(try item.decode())
        }
        #expect(all.map(\.configuration?.identifier) == [reply.identifier])

        let witness = Witness(bench.hub)
        let start: SessionsCalls.StartReply = try await client.call(
            "org.tunneld.Sessions.Start",
            SessionsCalls.StartParameters(identifier: reply.identifier, generation: 1)
        )
        #expect(!start.alreadyRunning)
        _ = try await witness.statuses(until: .connected)
        let status: SessionsCalls.StatusReply = try await client.call(
            "org.tunneld.Sessions.Status",
            SessionsCalls.StatusParameters()
        )
        #expect(status.sessions.map(\.status) == [.connected])
        let numbers: SessionsCalls.StatisticsReply = try await client.call(
            "org.tunneld.Sessions.Statistics",
            SessionsCalls.StatusParameters(identifier: reply.identifier)
        )
        #expect(numbers.counters?.receivedBytes == 11 && numbers.peers.count == 1)

        // A running tunnel is stopped before its configuration goes.
        let _: NoParameters = try await client.call(
            "org.tunneld.Configurations.Remove",
            ConfigurationsCalls.RemoveParameters(identifier: reply.identifier, generation: 1)
        )
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
        #expect(await bench.store.configurations().isEmpty)
    }

    @Test func `an empty store gives one reply without a configuration`() async throws {
        let client = try await connect()
        var all: [ConfigurationsCalls.LoadReply] = []
        for try await item in try await client.callMore("org.tunneld.Configurations.LoadAll") {
            all.append(try item.decode())
        }
        #expect(all.count == 1 && all[0].configuration == nil)
    }

    @Test func `faults of a document are told by their field`() async throws {
        let client = try await connect()
        let cases: [(JSONValue, String)] = [
            (["type": "l2tp", "name": "a"], "type"), (["name": "a"], "type"), (["type": "provider"], "name"),
            (["type": "provider", "name": 7], "name"), (["type": "provider", "name": "a"], "provider"),
            (["type": "provider", "name": "a", "onDemand": ["enabled": true, "rules": "all"]], "onDemand.rules"),
            ("x", "type"),
            (
                ["type": "provider", "name": "a", "provider": ["identifier": "", "configuration": [:]]],
                "provider.identifier"
            ), (["type": "provider", "name": "a", "passwordReference": ["$data": "c2Vj"]], "passwordReference"),
            (
                ["type": "provider", "name": "a", "provider": ["identifier": "x", "configuration": [:], "y": 1]],
                "provider.y"
            ),
        ]
        for (document, field) in cases {
            let error = await failure {
                let parameters: [String: JSONValue] = ["configuration": document, "generation": 0]
                let _: ConfigurationsCalls.SaveReply = try await client.call(
                    "org.tunneld.Configurations.Save",
                    parameters
                )
            }
            #expect(error?.name == .configurationInvalid && error?.field == field, "\(document)")
        }
        let faults = await failure {
            let _: ConfigurationsCalls.SaveReply = try await save(client, provider(["strange": 1]), secrets: [:])
        }
        #expect(faults?.field == "provider.configuration.strange")
        #expect(await bench.store.configurations().isEmpty)
    }

    @Test func `what an exclusive one switches off is told by its save`() async throws {
        let client = try await connect()
        var first = provider([:])
        first.exclusive = true
        let one = first
        let alone: ConfigurationsCalls.SaveReply = try await save(client, one, secrets: [:])
        #expect(alone.warnings == [])
        var second = provider([:])
        second.name = "second"
        second.includeAllNetworks = true
        let other = second
        let saved: ConfigurationsCalls.SaveReply = try await save(client, other, secrets: [:])
        #expect(saved.warnings.contains("It is exclusive, as everything with includeAllNetworks is."))
        let told = "\(one.name) was switched off: of its owner's exclusive configurations one at most is enabled."
        #expect(saved.warnings.contains(told), "\(saved.warnings)")
        #expect(await bench.store.configuration(alone.identifier)?.enabled == false)
    }

    @Test func `a provider that isn't installed is a warning at save and an error at start`() async throws {
        let client = try await connect()
        var configuration = provider([:])
        configuration.provider?.identifier = "org.example.later"
        let saved: ConfigurationsCalls.SaveReply = try await save(client, configuration, secrets: [:])
        #expect(saved.warnings.count == 1)
        configuration.name = "other"
        configuration.provider?.configuration = ["keyReference": "new:key"]
        let withSecret = configuration
        let second: ConfigurationsCalls.SaveReply = try await save(client, withSecret)
        #expect(second.warnings.count == 1)
        let stored = await bench.store.configuration(second.identifier)
        #expect(stored?.provider?.configuration["keyReference"]?.string?.hasPrefix("keychain:") == true)
        let error = await failure { try await start(client, saved.identifier) }
        #expect(error?.name == .providerUnknown)
        #expect(
            error?.reason?.hasPrefix("Installed are: org.tunneld.fake. Looked for: programs tunnel-provider-* in ")
                == true
        )
    }

    @Test func `errors of a start that are known at once come from the call`() async throws {
        let client = try await connect()
        var configuration = provider(["keyReference": "new:key"])
        configuration.enabled = false
        let saved: ConfigurationsCalls.SaveReply = try await save(client, configuration)
        #expect(await failure { try await start(client, saved.identifier) }?.name == .configurationDisabled)
        #expect(await failure { try await start(client, saved.identifier, 7) }?.name == .configurationStale)
        #expect(await failure { try await start(client, "none") }?.name == .configurationUnknown)
        #expect(await tunnels.existing(saved.identifier) == nil)
    }

    @Test func `a stop of what doesn't run is no error`() async throws {
        let client = try await connect()
        let saved: ConfigurationsCalls.SaveReply = try await save(client, provider(["keyReference": "new:key"]))
        let _: NoParameters = try await client.call(
            "org.tunneld.Sessions.Stop",
            SessionsCalls.StopParameters(identifier: saved.identifier)
        )
    }

    @Test func `a monitor begins with the present state and goes on with the news`() async throws {
        let client = try await connect()
        let saved: ConfigurationsCalls.SaveReply = try await save(client, provider(["keyReference": "new:key"]))
        let monitor = try await connect()
        let stream = try await monitor.callMore("org.tunneld.Sessions.Monitor", SessionsCalls.StatusParameters())
        var events: [SessionsCalls.Event] = []
        for try await reply in stream {
            events.append(try reply.decode())
            if events.last?.kind == .ready { try await start(client, saved.identifier) }
            if events.last?.status == .connected { break }
        }
        #expect(events.prefix(2).map(\.kind) == [.present, .ready])
        #expect(events[0].status == .disconnected && events[0].snapshot?.name == "home")
        let news = events.dropFirst(2)
        #expect(news.allSatisfy { $0.kind == .status } && news.last?.snapshot?.status == .connected)
        #expect(zip(news, news.dropFirst()).allSatisfy { $0.sequence + 1 == $1.sequence })
        await tunnels.tunnel(of: try #require(await bench.store.configuration(saved.identifier))).stop(session: nil)
        await tunnels.existing(saved.identifier)?.idle()
    }

    @Test func `a monitor that doesn't read is told what it missed, with the present state, and then goes on`()
        async throws
    {
        let client = try await connect()
        let saved: ConfigurationsCalls.SaveReply = try await save(client, provider(["keyReference": "new:key"]))
        let (here, there) = try UnixSocket.pair(.stream)
        let server = VarlinkServer(service)
        await server.serve(there)
        let call = VarlinkCall(
            method: "org.tunneld.Sessions.Monitor",
            parameters: try VarlinkJSON.encode(SessionsCalls.StatusParameters()),
            replyMode: .more
        )
        try unsafe AtomicFile.writeAll((call.encoded() + [0]).span.bytes, to: here.raw)
        let monitoring = await eventually { bench.hub.hasSubscribers(to: .status) }
        try #require(monitoring)
        let before = bench.hub.subscribe { _, _ in true }.start.sequence
        let count = 3000
        for number in 1...count { publish(saved.identifier, "\(number)") }
        var events = try await EventReader(here).read {
            $0.kind == .ready && $1.count(where: { $0.kind == .ready }) == 2
        }
        #expect(events.prefix(2).map(\.kind) == [.present, .ready])
        let told = events.dropFirst(2).prefix { $0.kind == .status }
        #expect(told.map(\.sequence) == Array(before + 1...before + told.count))
        let gap = events[2 + told.count]
        #expect(gap.kind == .resynchronise && gap.lost == count - told.count)
        #expect(told.count >= EventQueue.limit && gap.sequence == before + count)
        let present = events[3 + told.count]
        #expect(present.kind == .present && present.reason == "\(count)" && present.sequence == gap.sequence)
        #expect(events.count == 5 + told.count)
        publish(saved.identifier, "last")
        events = try await EventReader(here).read { event, _ in event.reason == "last" }
        #expect(events.map(\.sequence) == [before + count + 1])
        await server.stop()
    }

    private func publish(_ identifier: String, _ reason: String) {
        bench.hub.publish(
            .status,
            identifier,
            .init(owner: .init(user: 0), name: "home", status: .connecting, reason: reason),
            snapshot: nil,
            at: .now()
        )
    }

    @Test func `secrets are revealed in a memfd, to root`() async throws {
        let client = try await connect()
        let saved: ConfigurationsCalls.SaveReply = try await save(client, provider(["keyReference": "new:key"]))
        let call = VarlinkCall(
            method: "org.tunneld.Keychain.Reveal",
            parameters: try VarlinkJSON.encode(KeychainCalls.RevealParameters(identifier: saved.identifier))
        )
        let reply = try await client.perform(call)
        #expect(try reply.decode(KeychainCalls.RevealReply.self).count == 1)
        #expect(!String(decoding: reply.parameters, as: UTF8.self).contains("wolf"))
        let bundle = try #require(reply.descriptors.first)
        #expect(try secrets(in: bundle) == ["wolf"])
    }

    @Test func `doctor tells of the machine, the providers and the store`() async throws {
        let client = try await connect()
        let reply: DiagnosticsCalls.DoctorReply = try await client.call("org.tunneld.Diagnostics.Doctor")
        let checks = reply.findings.map(\.check)
        #expect(checks.starts(with: ["tun-device", "capability", "ipv6", "clock", "providers"]))
        #expect(reply.findings.first { $0.check == "store" }?.message == "Something.")
        #expect(reply.findings.allSatisfy { $0.level == .ok || $0.remedy != nil })
    }

    @Test func `a call that gives several replies asks for more`() async throws {
        let client = try await connect()
        for method in ["Configurations.LoadAll", "Sessions.Monitor"] {
            await #expect(throws: VarlinkError.expectedMore) {
                let _: NoParameters = try await client.call("org.tunneld.\(method)")
            }
        }
    }

    // MARK: Helpers

    private func connect() async throws -> VarlinkConnection {
        let (here, there) = try UnixSocket.pair(.stream)
        let server = VarlinkServer(service)
        await server.serve(there)
        return try await ServedConnection.make(here, server)
    }

    private func provider(_ content: JSONValue) -> Configuration {
        Configuration(
            name: "home",
            owner: .init(user: 0),
            provider: .init(identifier: "org.tunneld.fake", configuration: content)
        )
    }

    private func save(
        _ client: VarlinkConnection,
        _ configuration: Configuration,
        secrets: [String: String] = ["new:key": "wolf"]
    ) async throws -> ConfigurationsCalls.SaveReply {
        try await client.call(
            "org.tunneld.Configurations.Save",
            ConfigurationsCalls.SaveParameters(
                configuration: configuration,
                generation: 0,
                secrets: secrets.keys.map { .init(placeholder: $0, kind: .privateKey) }
            ),
            descriptors: secrets.isEmpty ? [] : [Bench.bundle(secrets)]
        )
    }

    private func start(_ client: VarlinkConnection, _ identifier: String, _ generation: Int? = nil) async throws {
        let _: SessionsCalls.StartReply = try await client.call(
            "org.tunneld.Sessions.Start",
            SessionsCalls.StartParameters(identifier: identifier, generation: generation)
        )
    }

    private func failure(_ body: () async throws -> Void) async -> ControlError? {
        do {
            try await body()
            return nil
        } catch {
            return try? (error as? VarlinkError)?.decode(ControlError.self)
        }
    }

    private func secrets(in bundle: SharedDescriptor) throws -> [String] {
        var found: [String] = []
        let isWhole = try unsafe MemoryFile.withContents(of: bundle.raw, limit: 1 << 20) { buffer in
            unsafe SecretBundle.read(buffer) { _, secret in
                found.append(unsafe String(decoding: secret, as: UTF8.self))
            }
        }
        #expect(isWhole)
        return found
    }
}

/// A connection that keeps its server alive.
private enum ServedConnection {
    static func make(_ socket: SharedDescriptor, _ server: VarlinkServer) async throws -> VarlinkConnection {
        let connection = try await VarlinkConnection.adopt(socket)
        await connection.onClose { withExtendedLifetime(server) {} }
        return connection
    }
}

/// Reads a monitor's events from its socket, off the tasks' threads.
private struct EventReader {
    private let socket: SharedDescriptor

    init(_ socket: SharedDescriptor) { self.socket = socket }

    /// All until the last one is as wanted; the socket holds nothing behind it.
    func read(
        until isLast: @escaping @Sendable (SessionsCalls.Event, [SessionsCalls.Event]) -> Bool
    ) async throws -> [SessionsCalls.Event] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "event-reader").async {
                continuation.resume(with: Result { try self.readNow(isLast) })
            }
        }
    }

    private func readNow(
        _ isLast: (SessionsCalls.Event, [SessionsCalls.Event]) -> Bool
    ) throws -> [SessionsCalls.Event] {
        var events: [SessionsCalls.Event] = []
        var rest: [UInt8] = []
        while true {
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            var request = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&request, 1, 30_000) > 0 else { throw SystemError(ETIMEDOUT, in: "poll") }
            let count = try check("read") { unsafe Int32(Glibc.read(socket.raw, &chunk, chunk.count)) }
            rest += chunk[..<Int(count)]
            while let end = rest.firstIndex(of: 0) {
                let reply = try VarlinkReply(parsing: Array(rest[..<end]))
                rest.removeFirst(end + 1)
                guard case .parameters(let data, _) = reply.body else { throw SystemError(EPROTO, in: "read") }
                events.append(try JSONDecoder().decode(SessionsCalls.Event.self, from: data))
                if let last = events.last, isLast(last, events) { return events }
            }
        }
    }
}
