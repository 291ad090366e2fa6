import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import Testing

@testable import SystemBus

/// Calls to a bus that isn't one.
@Suite(.timeLimit(.minutes(1))) struct SystemBusTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/system-bus-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private let hello = BusMessage.call("M", on: "i.i", of: "d.d", at: "/")

    @Test func `without a bus it is said at once, with the path`() async throws {
        let bus = SystemBus(address: "unix:path=\(folder)/none")
        guard case .failure(.unavailable(let reason)) = await bus.call(hello, within: .seconds(5)) else {
            Issue.record("It should fail.")
            return
        }
        #expect(reason.contains("\(folder)/none"))
        #expect(await SystemBus(address: "tcp:host=x").call(hello, within: .seconds(5)) != .success(hello))
        try FolderRemoval.remove(folder)
    }

    @Test func `one that hangs holds nobody up for longer than was allowed`() async throws {
        // It listens, and never accepts.
        let listener = try UnixListener(.stream, at: UnixSocketAddress("\(folder)/bus"), mode: 0o600)
        let bus = SystemBus(address: "unix:path=\(folder)/bus")
        let begin = ContinuousClock.now
        #expect(await bus.call(hello, within: .milliseconds(300)) == .failure(.timedOut))
        #expect(ContinuousClock.now - begin < .seconds(5))
        withExtendedLifetime(listener) {}
        try FolderRemoval.remove(folder)
    }
}
