import TestSupport
import Testing

/// Replays the corpora of `Tests/Fuzz` through the fuzzers' own checks, which end the process where something is wrong.
@Suite struct FuzzCorpusTests {
    @Test func `a file that can be read is read again from its export as it was`() throws {
        for input in try fuzzCorpus("FuzzConfigurationFile") { checkConfigurationFile(input) }
    }

    @Test func `validating JSON and reading it agree`() throws {
        for input in try fuzzCorpus("FuzzConfigurationJSON") { checkConfigurationJSON(input) }
    }
}
