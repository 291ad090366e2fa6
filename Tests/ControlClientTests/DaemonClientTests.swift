import ControlAPI
import ControlClient
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
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
        for _ in 0..<2000 where !closed.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(closed.withLock { $0 })
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
