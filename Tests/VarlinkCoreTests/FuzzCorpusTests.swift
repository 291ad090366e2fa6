import TestSupport
import Testing

/// Replays the corpus of `Tests/Fuzz` through the fuzzer's own check, which ends the process where something is wrong.
@Suite struct FuzzCorpusTests {
    @Test func `any stream of bytes is read or refused`() throws {
        for input in try fuzzCorpus("FuzzVarlink") { checkVarlink(input) }
    }
}
