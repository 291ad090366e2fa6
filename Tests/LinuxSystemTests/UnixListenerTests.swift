import Glibc
import TestSupport
import Testing
@testable import LinuxSystem

@Suite struct UnixListenerTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = TemporaryFolder()
        path = folder.path + "/control"
    }

    @Test(arguments: [UnixSocket.Kind.stream, .sequencedPacket])
    func `who connects is accepted, and the file goes with the listener`(kind: UnixSocket.Kind) throws {
        let listener = try UnixListener(kind, at: UnixSocketAddress(path), mode: 0o600)
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) == nil)
        let client = try UnixSocket.connect(kind, to: UnixSocketAddress(path))
        guard let accepted = try UnixSocket.accept(on: listener.descriptor.raw) else {
            Issue.record("nothing to accept")
            return
        }
        for raw in [listener.descriptor.raw, client.raw, accepted.raw] {
            #expect(fcntl(raw, F_GETFD) == FD_CLOEXEC)
            #expect(fcntl(raw, F_GETFL) & O_NONBLOCK != 0)
        }
        #expect(try PeerCredentials(of: accepted.raw).process == getpid())
        listener.removeFile()
        #expect(try names().isEmpty)
    }

    @Test func `the file has the mode that was asked for, whatever the umask is`() async {
        // In a process of its own, as the umask is the whole process's.
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            for mask: mode_t in [0, 0o077, 0o777] {
                for mode: UInt32 in [0o600, 0o660, 0o666] {
                    let address = UnixSocketAddress("\(folder.path)/\(mask)-\(mode)")
                    umask(mask)
                    _ = try UnixListener(.stream, at: address, mode: mode)
                    umask(0o022)
                    var status = stat()
                    try check("stat") { unsafe stat(address.path, &status) }
                    #expect(status.st_mode & 0o7777 == mode)
                }
            }
        }
    }

    @Test func `a live listener is left alone, with the same kind and with the other`() throws {
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        for kind in [UnixSocket.Kind.stream, .sequencedPacket] {
            #expect(throws: UnixListenerError.inUse(path: path)) {
                try UnixListener(kind, at: UnixSocketAddress(path), mode: 0o600)
            }
        }
        _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) != nil)
    }

    @Test func `a listener with a full backlog is alive`() throws {
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        try check("listen") { listen(listener.descriptor.raw, 0) }
        let first = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        #expect(throws: SystemError(EAGAIN, in: "connect")) {
            _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        }
        #expect(throws: UnixListenerError.inUse(path: path)) {
            try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        }
        _ = first
    }

    @Test func `the file of a process that is gone is replaced`() throws {
        _ = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        waitUntilNobodyListens()
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) != nil)
    }

    @Test func `what isn't a socket is left alone`() throws {
        let file = OwnedDescriptor(adopting: try check("open") { unsafe open(path, O_CREAT | O_WRONLY, 0o600) })
        #expect(throws: UnixListenerError.notASocket(path: path)) {
            try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        }
        #expect(try names() == ["control"])
        _ = file
    }

    @Test func `a link that leads nowhere is left alone, and told as what it is`() throws {
        #expect(unsafe symlink("/nowhere", path) == 0)
        #expect(throws: UnixListenerError.notASocket(path: path)) {
            try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        }
        #expect(try names() == ["control"])
    }

    @Test func `of twenty that start at once one listens, also over a dead one's file`() async throws {
        _ = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        waitUntilNobodyListens()
        let results = await withTaskGroup(of: Result<UnixListener, any Error>.self) { [path] group in
            for _ in 0..<20 {
                group.addTask { Result { try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600) } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let winners = results.compactMap { try? $0.get() }
        #expect(winners.count == 1)
        for case .failure(let error) in results { #expect(error as? UnixListenerError == .inUse(path: path)) }
        _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        #expect(try UnixSocket.accept(on: try #require(winners.first).descriptor.raw) != nil)
        #expect(try names() == ["control"])
    }

    @Test func `a listener whose file was replaced leaves the new one alone`() throws {
        let former = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        try check("unlink") { unsafe unlink(path) }
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        former.removeFile()
        #expect(try names() == ["control"])
        listener.removeFile()
        #expect(try names().isEmpty)
    }

    @Test func `a socket in a deep folder works like any other`() throws {
        var deep = folder.path
        for _ in 0..<10 {
            deep += "/a-folder-with-quite-a-long-name"
            try check("mkdir") { unsafe mkdir(deep, 0o700) }
        }
        let address = UnixSocketAddress(deep + "/control")
        #expect(address.path.utf8.count > 300)
        let listener = try UnixListener(.stream, at: address, mode: 0o640)
        _ = try UnixSocket.connect(.stream, to: address)
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) != nil)
        #expect(throws: UnixListenerError.inUse(path: address.path)) {
            try UnixListener(.stream, at: address, mode: 0o600)
        }
        listener.removeFile()
        #expect(unsafe access(address.path, F_OK) == -1)
        while deep != folder.path {
            try check("rmdir") { unsafe rmdir(deep) }
            deep = String(deep[..<(deep.lastIndex(of: "/") ?? deep.endIndex)])
        }
    }

    @Test(arguments: [107, 108]) func `both sides of the limit of an address work`(length: Int) throws {
        let name = String(repeating: "n", count: length - folder.path.utf8.count - 1)
        let address = UnixSocketAddress(folder.path + "/" + name)
        #expect(address.path.utf8.count == length)
        let listener = try UnixListener(.stream, at: address, mode: 0o600)
        _ = try UnixSocket.connect(.stream, to: address)
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) != nil)
    }

    @Test func `a socket that systemd passed is served, and its file is left to systemd`() throws {
        let passed = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        let inherited = try passed.descriptor.duplicate()
        try check("fcntl") { fcntl(inherited.raw, F_SETFD, 0) }
        try check("fcntl") { fcntl(inherited.raw, F_SETFL, 0) }
        let listener = try UnixListener(adopting: inherited)
        #expect(fcntl(listener.descriptor.raw, F_GETFD) == FD_CLOEXEC)
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) == nil)
        _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        #expect(try UnixSocket.accept(on: listener.descriptor.raw) != nil)
        listener.removeFile()
        #expect(try names() == ["control"])
    }

    @Test func `what can't be a path is refused`() throws {
        let long = UnixSocketAddress(folder.path + "/" + String(repeating: "n", count: 200))
        #expect(throws: SystemError(ENAMETOOLONG, in: "connect")) { _ = try UnixSocket.connect(.stream, to: long) }
        let zero = UnixSocketAddress(path + "\0/evil")
        #expect(throws: SystemError.self) { _ = try UnixSocket.connect(.stream, to: zero) }
        let nowhere = UnixSocketAddress(path + "/none/control")
        #expect(throws: UnixListenerError.self) { try UnixListener(.stream, at: nowhere, mode: 0o600) }
    }

    /// A child that another test is starting has the descriptor too, until it executes its program.
    private func waitUntilNobodyListens() {
        #expect(blockUntil { connectError() != nil })
        #expect(connectError() == SystemError(ECONNREFUSED, in: "connect"))
    }

    private func connectError() -> SystemError? {
        do throws(SystemError) {
            _ = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
            return nil
        } catch {
            return error
        }
    }

    private func names() throws -> [String] { try FileSystem.names(inFolder: folder.path) }
}
