import Glibc
import LinuxSystem
import TestSupport
import Testing

@Suite struct MemoryFileTests {
    @Test func `what was written is read, and can't be changed`() throws {
        let file = try makeFile([1, 2, 3])
        #expect(try contents(of: file.raw, limit: 3) == [1, 2, 3])
        var byte: UInt8 = 9
        let written = unsafe pwrite(file.raw, &byte, 1, 0)
        #expect(written == -1)
        #expect(ftruncate(file.raw, 0) == -1)
    }

    @Test func `a file is sealed while children are started`() async throws {
        await withTaskGroup { group in
            group.addTask {
                for _ in 0..<200 {
                    let child = try? ChildProcess(program: "/bin/true", user: 2_000_070_002).start()
                    if child?.waitForEnd(milliseconds: patienceMilliseconds) == true { _ = child?.collect() }
                }
            }
            group.addTask {
                for _ in 0..<2000 { #expect(throws: Never.self) { try makeFile([1, 2, 3]) } }
            }
        }
    }

    @Test func `an empty file has no bytes`() throws {
        let file = try makeFile([])
        #expect(try contents(of: file.raw, limit: 0) == [])
    }

    @Test func `a file that its owner could change is refused, and one beyond the limit`() throws {
        let plain = SharedDescriptor(OwnedDescriptor(adopting: unsafe open("/etc/passwd", O_RDONLY | O_CLOEXEC)))
        #expect(throws: SystemError(EBADF, in: "fcntl(F_GET_SEALS)")) { try contents(of: plain.raw, limit: 1 << 20) }
        let file = try makeFile([1, 2, 3])
        #expect(throws: SystemError(EFBIG, in: "fstat")) { try contents(of: file.raw, limit: 2) }
    }

    private func makeFile(_ bytes: [UInt8]) throws -> SharedDescriptor {
        SharedDescriptor(
            try unsafe MemoryFile.make(name: "test", count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
        )
    }

    private func contents(of raw: Int32, limit: Int) throws -> [UInt8] {
        try unsafe MemoryFile.withContents(of: raw, limit: limit) { unsafe Array($0) }
    }
}
