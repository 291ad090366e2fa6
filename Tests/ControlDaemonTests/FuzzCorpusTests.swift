import FoundationEssentials
import Testing

/// Replays the corpus of `Tests/Fuzz` through the fuzzer's own check, which ends the process where something is wrong.
@Suite struct FuzzCorpusTests {
    @Test func `any bytes in a configuration's file are read or refused`() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "Fuzz/FuzzConfigurationDocument/Corpus")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 12)
        for name in names { checkConfigurationDocument(Array(try Data(contentsOf: folder.appending(path: name)))) }
    }
}
