import Glibc
import LinuxSystem
import TestSupport
import Testing

@Suite struct AtomicFileTests {
    private let temporary = TemporaryFolder()
    private var folder: String { temporary.path }

    @Test func `a file is replaced whole, with its mode, and nothing else is left`() throws {
        let path = folder + "/file"
        try AtomicFile.write(Array("one".utf8), to: path, mode: 0o600)
        try AtomicFile.write(Array("two".utf8), to: path, mode: 0o600)
        #expect(try FileSystem.contents(ofFile: path, limit: 10) == Array("two".utf8))
        #expect(try FileSystem.names(inFolder: folder) == ["file"])
        #expect(mode(of: path) == 0o600)
    }

    @Test func `a write that fails leaves the old file and no other`() throws {
        let path = folder + "/file"
        try AtomicFile.write(Array("one".utf8), to: path, mode: 0o600)
        // It says which file.
        #expect(throws: SystemError(ENOSPC, call: "write(\(path).new)")) {
            try AtomicFile.write(to: path, mode: 0o600) { _ throws(SystemError) in
                throw SystemError(ENOSPC, in: "write")
            }
        }
        #expect(try FileSystem.contents(ofFile: path, limit: 10) == Array("one".utf8))
        #expect(try FileSystem.names(inFolder: folder) == ["file"])
    }

    @Test func `what a crash left of an earlier write is in nobody's way`() throws {
        let path = folder + "/file"
        try AtomicFile.write(Array("rest".utf8), to: path + AtomicFile.temporarySuffix, mode: 0o444)
        try AtomicFile.write(Array("new".utf8), to: path, mode: 0o600)
        #expect(try FileSystem.contents(ofFile: path, limit: 10) == Array("new".utf8))
    }

    @Test func `a file that isn't there is removed without an error, and a folder that isn't is named`() throws {
        try AtomicFile.remove(folder + "/none")
        #expect {
            try AtomicFile.write([], to: self.folder + "/no/file", mode: 0o600)
        } throws: { error in
            (error as? SystemError)?.description.contains(self.folder + "/no/file.new") == true
        }
    }

    /// In this order a power cut finds the old contents or the new ones under the name, and after the last call the new.
    @Test func `contents are on the disk before the name, and the name before the return`() throws {
        let name = folder.split(separator: "/").last.map(String.init) ?? ""
        let calls = try durabilityCalls { try AtomicFile.write([1], to: folder + "/file", mode: 0o600) }
        #expect(calls == ["unlink file.new", "fsync file.new", "rename file", "fsync \(name)"])
        #expect(try durabilityCalls { try AtomicFile.remove(folder + "/file") } == ["unlink file", "fsync \(name)"])
    }

    private func mode(of path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }
}
