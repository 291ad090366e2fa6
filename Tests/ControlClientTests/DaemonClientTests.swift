import ControlAPI
import ControlClient
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing
import VarlinkCore
import VarlinkSocket

@Suite struct DaemonClientTests {
    /// A service of tunneld's sessions, and the calls that it holds open.
    private final class Service: Sendable {
        let path: String
        let server: VarlinkServer

        init(_ handlers: (inout VarlinkService) -> Void) async throws {
            var template = Array("/tmp/control-client-XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/control"
            let description = ServiceDescription(
                vendor: "tunneld",
                product: "tunneld",
                version: "0.0.2",
                url: "",
                interfaces: [try InterfaceDescription(parsing: InterfaceDescriptions.sessions)]
            )
            var service = VarlinkService(description)
            handlers(&service)
            server = VarlinkServer(service)
            await server.listen(on: try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600))
        }

        deinit { _ = unsafe rmdir(String(path.dropLast("/control".count))) }
    }

    private static let event = SessionsCalls.Event(
        sequence: 1,
        time: Timestamp(milliseconds: 0),
        kind: .ready,
        identifier: nil,
        name: nil,
        status: nil,
        reason: nil,
        error: nil,
        snapshot: nil
    )

    @Test func `a monitor ends with the reason when its connection does`() async throws {
        let responders = Mutex<[Responder]>([])
        let service = try await Service { service in
            service.on("org.tunneld.Sessions.Monitor") { request in
                try request.responder.send(Self.event)
                responders.withLock { $0.append(request.responder) }
            }
        }
        var events = try await DaemonClient(socket: service.path).monitor(nil).makeAsyncIterator()
        #expect(try await events.next() == Self.event)
        await service.server.stop()
        let error = await #expect(throws: ControlError.self) { _ = try await events.next() }
        #expect(error?.name == .unavailable)
    }

    @Test func `what only reads waits for the reading limit and then names the process`() async throws {
        let service = try await Service { service in
            for method in ["Sessions.Status", "Sessions.Statistics"] {
                service.on("org.tunneld.\(method)") { _ in try await Task.sleep(for: .seconds(600)) }
            }
        }
        let client = DaemonClient(socket: service.path, readPatience: .seconds(1))
        let begin = ContinuousClock.now
        let error = await #expect(throws: ControlError.self) { _ = try await client.status() }
        #expect(error?.name == .unavailable)
        #expect(error?.message == "tunneld (process \(getpid())) doesn't answer.")
        #expect(error?.reason == "It took the connection and hasn't answered Status within 1 s.")
        #expect(error?.remedy?.contains("kill -9 \(getpid())") == true)
        await #expect(throws: ControlError.self) { _ = try await client.statistics("a") }
        #expect(ContinuousClock.now - begin < .seconds(10))
        await service.server.stop()
    }

    @Test func `a change is waited for as long as tunneld answers others, and a limit is told as such`() async throws {
        let service = try await Service { service in
            service.on("org.tunneld.Sessions.Start") { request in
                try await Task.sleep(for: .milliseconds(700))
                try request.responder.reply(SessionsCalls.StartReply(session: "s", alreadyRunning: false))
            }
            service.on("org.tunneld.Sessions.Stop") { _ in try await Task.sleep(for: .seconds(600)) }
        }
        let client = DaemonClient(socket: service.path, patience: .seconds(2), readPatience: .milliseconds(200))
        #expect(try await client.start("a").session == "s")
        let error = await #expect(throws: ControlError.self) { try await client.stop("a") }
        #expect(error?.name == .timedOut)
        #expect(error?.message == "tunneld isn't done with Stop after 2 s; it is still at work.")
        await service.server.stop()
    }

    @Test func `a change isn't waited for where nobody answers any more`() async throws {
        var template = Array("/tmp/control-client-XXXXXX".utf8CString)
        try #require(unsafe mkdtemp(&template) != nil)
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { _ = unsafe rmdir(folder) }
        // Connections come into its backlog and are never accepted, as with a process that is stopped.
        let listener = try UnixListener(.stream, at: UnixSocketAddress(folder + "/control"), mode: 0o600)
        let client = DaemonClient(socket: folder + "/control", readPatience: .seconds(1))
        let begin = ContinuousClock.now
        let error = await #expect(throws: ControlError.self) { try await client.stop("a") }
        #expect(error?.name == .unavailable)
        #expect(error?.message == "tunneld (process \(getpid())) doesn't answer.")
        #expect(ContinuousClock.now - begin < .seconds(10))
        withExtendedLifetime(listener) {}
    }

    @Test func `a monitor that nobody holds any more closes its connection`() async throws {
        let closed = Mutex(false)
        let responders = Mutex<[Responder]>([])
        let service = try await Service { service in
            service.on("org.tunneld.Sessions.Monitor") { request in
                request.responder.onDisconnect { closed.withLock { $0 = true } }
                try request.responder.send(Self.event)
                responders.withLock { $0.append(request.responder) }
            }
        }
        do {
            var events = try await DaemonClient(socket: service.path).monitor(nil).makeAsyncIterator()
            #expect(try await events.next() == Self.event)
        }
        #expect(await eventually { closed.withLock { $0 } })
        await service.server.stop()
    }

    @Test func `a tunneld that doesn't answer is given up`() async throws {
        let requests = Mutex<[VarlinkRequest]>([])
        let service = try await Service { service in
            service.on("org.tunneld.Sessions.Status") { request in requests.withLock { $0.append(request) } }
        }
        let client = DaemonClient(socket: service.path, patience: .milliseconds(50))
        let error = await #expect(throws: ControlError.self) { try await client.status() }
        #expect(error?.name == .unavailable)
        await service.server.stop()
    }

    @Test func `a method that tunneld doesn't know is told with both versions`() async throws {
        let service = try await Service { _ in }
        let client = DaemonClient(socket: service.path)
        #expect(try await client.information().version == "0.0.2")
        let error = await #expect(throws: ControlError.self) { try await client.doctor() }
        #expect(error?.name == .versionMismatch)
        #expect(error?.reason == "tunneld is version 0.0.2, this client \(ProductVersion.version).")
        await service.server.stop()
    }
}
