import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing
@testable import LinuxSystem

@Suite struct LockFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = TemporaryFolder()
        path = folder.path + "/lock"
    }

    @Test func `the second is told who has it, and gets it when the first is gone`() throws {
        var first: LockFile? = try LockFile.acquire(path: path)
        let held = LockFile.Failure.held(LockFile.Held(path: path, process: getpid()))
        #expect(throws: held) { try LockFile.acquire(path: path) }
        first = nil
        let second = try LockFile.acquire(path: path)
        #expect(throws: held) { try LockFile.acquire(path: path) }
        second.release()
        second.release()
        _ = try LockFile.acquire(path: path)
        #expect(first == nil)
    }

    @Test func `one whose holder is about to end is waited for`() throws {
        let first = try LockFile.acquire(path: path)
        DispatchQueue(label: "holder").asyncAfter(deadline: .now() + .milliseconds(100)) { first.release() }
        _ = try LockFile.acquire(path: path)
    }

    @Test func `one that a holder's child has still, when the holder is gone, is waited for`() throws {
        // What a child that is being started has: the holder's open file, with the holder's number in it.
        let raw = try check("open") { unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        let inherited = Mutex<OwnedDescriptor?>(OwnedDescriptor(adopting: raw))
        try check("flock") { flock(raw, LOCK_EX | LOCK_NB) }
        let nobody = Array("\(Int32.max)\n".utf8)
        #expect(unsafe nobody.withUnsafeBytes { unsafe pwrite(raw, $0.baseAddress, $0.count, 0) } == nobody.count)
        DispatchQueue(label: "child").asyncAfter(deadline: .now() + .milliseconds(300)) {
            inherited.withLock { $0 = nil }
        }
        _ = try LockFile.acquire(path: path)
    }

    @Test func `of twenty that start at once one gets it`() async {
        let locks = await withTaskGroup(of: LockFile?.self) { [path] group in
            for _ in 0..<20 { group.addTask { try? LockFile.acquire(path: path) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(locks.compactMap(\.self).count == 1)
    }

    @Test func `only its owner can read the file, and a link in its place is refused`() throws {
        _ = try LockFile.acquire(path: path)
        var status = stat()
        try check("stat") { unsafe stat(path, &status) }
        #expect(status.st_mode & 0o7777 == 0o600)
        let link = folder.path + "/link"
        try check("symlink") { unsafe symlink(path, link) }
        #expect(throws: LockFile.Failure.system(SystemError(ELOOP, in: "open"))) { try LockFile.acquire(path: link) }
    }

    @Test func `transient locks take turns and leave no file`() async throws {
        let inside = Counter()
        try await withThrowingTaskGroup(of: Void.self) { [path] group in
            for _ in 0..<20 {
                group.addTask {
                    let lock = try LockFile.transient(path: path, patienceMilliseconds: Int(patienceMilliseconds))
                    inside.add(1)
                    #expect(inside.value == 1)
                    inside.add(-1)
                    lock.release()
                }
            }
            try await group.waitForAll()
        }
        #expect(try FileSystem.names(inFolder: folder.path).isEmpty)
    }

    @Test func `a transient lock that doesn't become free is given up`() throws {
        let lock = try LockFile.acquire(path: path)
        #expect(throws: SystemError(ETIMEDOUT, in: "flock")) {
            try LockFile.transient(path: path, patienceMilliseconds: 20)
        }
        lock.release()
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func add(_ change: Int) { count.withLock { $0 += change } }
}
