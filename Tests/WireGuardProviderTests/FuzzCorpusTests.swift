import FoundationEssentials
import Testing

/// Replays the corpus of `Tests/Fuzz` through the fuzzer's own check, which ends the process where something is wrong.
struct FuzzCorpusTests {
    @Test func `any bytes on the device socket are read or refused`() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "Fuzz/FuzzDeviceOperation/Corpus")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 17)
        for name in names { checkDeviceOperations(Array(try Data(contentsOf: folder.appending(path: name)))) }
    }
}
