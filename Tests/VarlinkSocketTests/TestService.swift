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

    let folder: TemporaryFolder
    let server: VarlinkServer
    let path: String
    let incidents = Incidents()
    let hangs = Hangs()

    init(limits: ServerLimits = ServerLimits()) async throws {
        folder = try TemporaryFolder()
        path = folder.path + "/control"
        server = VarlinkServer(try Self.service(hangs), limits: limits) { [incidents] in incidents.add($0) }
        await server.listen(on: try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o666))
    }

    func connect() async throws -> VarlinkConnection { try await VarlinkConnection.connect(to: path) }

    /// A socket on which a test can say anything.
    func rawClient() throws -> RawClient { try RawClient(path) }

    private static func service(_ hangs: Hangs) throws -> VarlinkService {
        struct Echo: Codable { let text: String }
        struct Sum: Decodable { let a, b: Int64 }
        struct Count: Decodable { let to: Int }
        struct Flood: Decodable { let size: Int }

        var service = VarlinkService(
            ServiceDescription(
                vendor: "tunneld",
                product: "test",
                version: "1",
                url: "https://example.org/",
                interfaces: [try InterfaceDescription(parsing: interface)]
            )
        )
        service.on("org.tunneld.Test.Echo") { (echo: Echo, _) in echo }
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
        service.on("org.tunneld.Test.Flood") { request in
            let size = try request.parameters(as: Flood.self).size
            while request.responder.isConnected {
                try request.responder.send(["data": String(repeating: "x", count: size)])
            }
        }
        service.on("org.tunneld.Test.Hang") { request in
            hangs.begin()
            request.responder.onDisconnect { hangs.disconnect() }
            do { try await Task.sleep(for: .seconds(600)) } catch { hangs.cancel() }
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

/// Counts what happens to calls of `Hang`.
final class Hangs: Sendable {
    private let counts = Mutex((begun: 0, disconnected: 0, cancelled: 0))

    func begin() { counts.withLock { $0.begun += 1 } }
    func disconnect() { counts.withLock { $0.disconnected += 1 } }
    func cancel() { counts.withLock { $0.cancelled += 1 } }

    var begun: Int { counts.withLock { $0.begun } }
    var disconnected: Int { counts.withLock { $0.disconnected } }
    var cancelled: Int { counts.withLock { $0.cancelled } }
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

/// Waits for a state, at most ten seconds.
func eventually(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<2000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return await condition()
}
