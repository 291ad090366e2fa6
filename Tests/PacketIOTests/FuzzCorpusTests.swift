import TestSupport
import Testing

/// Replays the corpus of `Tests/Fuzz/FuzzPackets` through the fuzzer's own check, which ends the process at a fault.
@Suite struct FuzzCorpusTests {
    @Test func `packets are cut and merged without a change`() throws {
        for input in try fuzzCorpus("FuzzPackets") { checkPackets(input) }
    }
}
