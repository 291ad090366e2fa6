import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import VarlinkCore
@testable import VarlinkSocket

/// A small service at a path of its own, and what the tests ask of it.
struct TestService {
    static let interface = """
        interface org.tunneld.Test

        method Echo(text: string) -> (text: string)
        method Add(a: int, b: int) -> (sum: int)
        method Count(to: int) -> (number: int)
        method Flood(size: int) -> (data: string)
        method Hang() -> ()
        method Forget() -> ()
        method Fail() -> ()
        method Descriptors() -> (received: int)
        method Missing() -> ()

        error Refused (message: string)

        """

    private struct Echo: Codable { let text: String }
    private struct Flood: Decodable { let size: Int }

    let folder: TemporaryFolder
    let server: VarlinkServer
    let path: String
    let incidents = Incidents()
    let echoes = Counter()
    let endedFloods = Counter()
    let hangs = Counter()
    let disconnectedHangs = Counter()
    let cancelledHangs = Counter()

    init(
        limits: ServerLimits = ServerLimits(),
        acceptor: @escaping VarlinkServer.Acceptor = UnixSocket.accept
    ) async throws {
        folder = try TemporaryFolder()
        path = folder.path + "/control"
        var service = try Self.service()
        service.on("org.tunneld.Test.Echo") { [echoes] (echo: Echo, _) in
            echoes.add()
            return echo
        }
        service.on("org.tunneld.Test.Flood") { [endedFloods] request in
            defer { endedFloods.add() }
            let size = try request.parameters(as: Flood.self).size
            while true { try request.responder.send(["data": String(repeating: "x", count: size)]) }
        }
        service.on("org.tunneld.Test.Hang") { [hangs, disconnectedHangs, cancelledHangs] request in
            hangs.add()
            request.responder.onDisconnect { disconnectedHangs.add() }
            do { try await Task.sleep(for: .seconds(600)) } catch { cancelledHangs.add() }
        }
        server = VarlinkServer(service, limits: limits, acceptor: acceptor) { [incidents] in incidents.add($0) }
        await server.listen(on: try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o666))
    }

    func connect() async throws -> VarlinkConnection { try await VarlinkConnection.connect(to: path) }

    /// A socket on which a test can say anything.
    func rawClient() throws -> RawClient { try RawClient(path) }

    private static func service() throws -> VarlinkService {
        struct Sum: Decodable { let a, b: Int64 }
        struct Count: Decodable { let to: Int }

        var service = VarlinkService(
            ServiceDescription(
                vendor: "tunneld",
                product: "test",
                version: "1",
                url: "https://example.org/",
                interfaces: [try InterfaceDescription(parsing: interface)]
            )
        )
        service.on("org.tunneld.Test.Add") { (sum: Sum, _) in
            let (result, overflow) = sum.a.addingReportingOverflow(sum.b)
            if overflow { throw VarlinkError.invalidParameter("b") }
            return ["sum": result]
        }
        service.on("org.tunneld.Test.Count") { request in
            let to = try request.parameters(as: Count.self).to
            for number in 1..<to { try request.responder.send(["number": number]) }
            try request.responder.reply(["number": to])
        }
        service.on("org.tunneld.Test.Forget") { _ in }
        service.on("org.tunneld.Test.Fail") { _ in
            throw VarlinkError("org.tunneld.Test.Refused", ["message": "no"])
        }
        service.on("org.tunneld.Test.Descriptors") { request in
            try request.responder.reply(["received": request.descriptors.count], descriptors: request.descriptors)
        }
        return service
    }
}

/// Counts what happens in handlers.
final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}

final class Incidents: Sendable {
    private let list = Mutex<[ServerIncident]>([])

    func add(_ incident: ServerIncident) { list.withLock { $0.append(incident) } }
    var all: [ServerIncident] { list.withLock { $0 } }
}

/// A folder that goes with its last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/tunneld-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
