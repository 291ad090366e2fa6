import TestSupport
import Testing

/// Replays the corpora of `Tests/Fuzz` through the fuzzers' own checks, which end the process where something is wrong.
@Suite struct FuzzCorpusTests {
    @Test func `scripts of datagrams leave small tables, and devices that can connect`() throws {
        for input in try fuzzCorpus("FuzzDatagrams") { checkDatagrams(input) }
    }

    @Test func `the replay window agrees with a list`() throws {
        for input in try fuzzCorpus("FuzzReplayWindow") { checkReplayWindow(input) }
    }
}
