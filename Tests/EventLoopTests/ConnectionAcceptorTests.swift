import Dispatch
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import EventLoop

struct ConnectionAcceptorTests {
    @Test func `everybody who waits is let in`() throws {
        let door = try Door()
        defer { door.close() }
        let clients = [try door.connect(), try door.connect(), try door.connect()]
        for _ in clients { #expect(door.entered(within: 5000)) }
        #expect(!door.entered(within: 50))
    }

    @Test(arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func `while nobody can be let in nothing spins, and afterwards who waited is let in`(code: Int32) throws {
        let door = try Door()
        defer { door.close() }
        door.shortage.withLock { $0 = code }
        let client = try door.connect()
        #expect(!door.entered(within: 400))
        // One that asks without having been told to, as who looks for descriptors does.
        #expect(door.queue.sync { door.acceptor?.next() == nil })
        #expect(door.attempts.withLock { $0 } == 1)
        door.shortage.withLock { $0 = nil }
        #expect(door.entered(within: 10_000))
        withExtendedLifetime(client) {}
    }
}

/// A listening socket that a shortage can be made up for.
private final class Door: Sendable {
    let queue = DispatchQueue(label: "door")
    let shortage = Mutex<Int32?>(nil)
    let attempts = Mutex(0)
    private let folder: String
    private let listener: UnixListener
    private let signal = DispatchSemaphore(value: 0)
    private let made = Mutex<ConnectionAcceptor?>(nil)

    var acceptor: ConnectionAcceptor? { made.withLock { $0 } }

    init() throws {
        var template = Array("/tmp/tunneld-door-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        listener = try UnixListener(.stream, at: UnixSocketAddress(folder + "/socket"), mode: 0o600)
        let acceptor = try ConnectionAcceptor(
            listener.descriptor,
            on: queue,
            accept: { @Sendable [weak self] raw throws(SystemError) in
                self?.attempts.withLock { $0 += 1 }
                if let code = self?.shortage.withLock({ $0 }) { throw SystemError(code, in: "accept4") }
                return try UnixSocket.accept(on: raw)
            },
            handler: { @Sendable [weak self] in self?.letIn() }
        )
        made.withLock { $0 = acceptor }
        acceptor.resume()
    }

    func connect() throws -> SharedDescriptor {
        SharedDescriptor(try UnixSocket.connect(.stream, to: UnixSocketAddress(folder + "/socket")))
    }

    func entered(within milliseconds: Int) -> Bool {
        signal.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }

    func close() {
        acceptor?.cancel()
        listener.removeFile()
        _ = unsafe rmdir(folder)
    }

    private func letIn() {
        while acceptor?.next() != nil { signal.signal() }
    }
}
