import Glibc
import LinuxSystem
import Testing

@Suite struct FileSystemTests {
    private let temporary = TemporaryFolder()

    @Test func `a regular file comes whole, within the limit`() throws {
        let path = temporary.path + "/file"
        try AtomicFile.write([1, 2, 3], to: path, mode: 0o600)
        #expect(try FileSystem.contents(ofFile: path, limit: 3) == [1, 2, 3])
        #expect(throws: SystemError(EFBIG, in: "read")) { try FileSystem.contents(ofFile: path, limit: 2) }
        #expect(try !FileSystem.contents(ofFile: "/proc/self/stat", limit: 4096).isEmpty)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a pipe in a file's place keeps nobody waiting`(hasWriter: Bool) throws {
        let path = temporary.path + "/pipe"
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let writer = hasWriter ? unsafe open(path, O_RDWR) : -1
        defer { if writer >= 0 { close(writer) } }
        #expect { try FileSystem.contents(ofFile: path, limit: 3) } throws: { ($0 as? SystemError)?.code == EINVAL }
    }

    @Test func `a folder in a file's place, and a file in a folder's, are told`() throws {
        #expect(throws: SystemError(EISDIR, in: "read")) {
            try FileSystem.contents(ofFile: temporary.path, limit: 3)
        }
        let path = temporary.path + "/file"
        try AtomicFile.write([1], to: path, mode: 0o600)
        #expect(throws: SystemError(ENOTDIR, call: "opendir(\(path))")) { try FileSystem.names(inFolder: path) }
    }
}
