import Glibc
import LinuxSystem
import TestSupport
import Testing

@Suite struct AtomicFileBatchTests {
    @Test func `files get their names and contents together`() throws {
        let folder = TemporaryFolder()
        var batch = AtomicFileBatch(in: folder.path, mode: 0o600)
        for number in 0..<300 { try batch.add(Array("file \(number)".utf8), as: "f\(number)") }
        #expect(try FileSystem.names(inFolder: folder.path).allSatisfy { $0.hasSuffix(AtomicFile.temporarySuffix) })
        var count = 0
        try batch.commit { count += 1 }
        #expect(count == 300)
        #expect(try FileSystem.names(inFolder: folder.path).count == 300)
        #expect(try FileSystem.contents(ofFile: "\(folder.path)/f299", limit: 100) == Array("file 299".utf8))
    }

    @Test func `all contents are on the disk before the first name, and the names before the return`() throws {
        let folder = TemporaryFolder()
        let name = folder.path.split(separator: "/").last.map(String.init) ?? ""
        let calls = try durabilityCalls {
            var batch = AtomicFileBatch(in: folder.path, mode: 0o600)
            try batch.add([1], as: "a")
            try batch.add([2], as: "b")
            try batch.commit()
        }
        #expect(
            calls == [
                "unlink a.new", "unlink b.new", "fsync a.new", "fsync b.new", "rename a", "rename b", "fsync \(name)",
            ]
        )
    }

    @Test func `what isn't committed leaves nothing`() throws {
        let folder = TemporaryFolder()
        do {
            var batch = AtomicFileBatch(in: folder.path, mode: 0o600)
            try batch.add([1, 2, 3], as: "a")
            try batch.add([4], as: "b")
        }
        #expect(try FileSystem.names(inFolder: folder.path).isEmpty)
    }

    @Test func `a failure names the file, and takes back those without a name`() throws {
        let folder = TemporaryFolder()
        #expect(unsafe mkdir("\(folder.path)/b", 0o700) == 0)
        defer { _ = unsafe rmdir("\(folder.path)/b") }
        let error = #expect(throws: SystemError.self) {
            var batch = AtomicFileBatch(in: folder.path, mode: 0o600)
            try batch.add([1], as: "a")
            try batch.add([2], as: "b")
            try batch.add([3], as: "c")
            try batch.commit()
        }
        #expect(error?.description.contains("rename(\(folder.path)/b)") == true)
        #expect(try FileSystem.names(inFolder: folder.path).sorted() == ["a", "b"])
    }

    @Test func `one that can't be removed keeps none of the others`() throws {
        let folder = TemporaryFolder()
        #expect(unsafe mkdir("\(folder.path)/b", 0o700) == 0)
        defer { _ = unsafe rmdir("\(folder.path)/b") }
        for name in ["a", "c"] { try AtomicFile.write([1], to: "\(folder.path)/\(name)", mode: 0o600) }
        var gone = 0
        let error = #expect(throws: SystemError.self) {
            try AtomicFile.remove(["a", "b", "c", "absent"], in: folder.path) { gone += 1 }
        }
        #expect(error?.description.contains("unlink(\(folder.path)/b)") == true)
        #expect(gone == 3)
        #expect(try FileSystem.names(inFolder: folder.path) == ["b"])
    }
}
