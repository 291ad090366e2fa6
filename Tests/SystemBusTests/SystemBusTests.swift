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

    private func answer(of address: String, within limit: Interval) async -> Result<String, BusError> {
        await SystemBus(address: address)
            .call(BusMethod("M", on: "i.i", of: "d.d", at: "/"), within: limit) { answer throws(BusError) in
                try answer.string()
            }
    }

    @Test func `without a bus it is said at once, with the path`() async throws {
        guard
            case .failure(.unavailable(let reason)) = await answer(of: "unix:path=\(folder)/none", within: .seconds(5))
        else {
            Issue.record("It should fail.")
            return
        }
        #expect(reason == "unix:path=\(folder)/none: sd-bus: No such file or directory (ENOENT)")
        try FolderRemoval.remove(folder)
    }

    @Test func `an address that is none is refused`() async throws {
        for address in ["", "tcp", "unix:", "unix:path="] {
            guard case .failure(.unavailable) = await answer(of: address, within: .seconds(5)) else {
                Issue.record("It should fail: \(address)")
                continue
            }
        }
        try FolderRemoval.remove(folder)
    }

    @Test func `what can't be written is no call`() async throws {
        let listener = try UnixListener(.stream, at: UnixSocketAddress("\(folder)/bus"), mode: 0o600)
        let bus = SystemBus(address: "unix:path=\(folder)/bus")
        for method in [
            BusMethod("no method", on: "i.i", of: "d.d", at: "/"), BusMethod("M", on: "i.i", of: "d.d", at: "none"),
        ] {
            let answer = await bus.call(method, within: .seconds(5)) { _ throws(BusError) in 0 }
            guard case .failure(.malformed) = answer else {
                Issue.record("It should fail: \(answer)")
                continue
            }
        }
        withExtendedLifetime(listener) {}
        try FolderRemoval.remove(folder)
    }

    @Test func `one that hangs holds nobody up for longer than was allowed`() async throws {
        // It listens, and never accepts.
        let listener = try UnixListener(.stream, at: UnixSocketAddress("\(folder)/bus"), mode: 0o600)
        let begin = ContinuousClock.now
        #expect(await answer(of: "unix:path=\(folder)/bus", within: .milliseconds(300)) == .failure(.timedOut))
        #expect(ContinuousClock.now - begin < .seconds(5))
        withExtendedLifetime(listener) {}
        try FolderRemoval.remove(folder)
    }
}
