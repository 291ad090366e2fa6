import Glibc
import TestSupport
import Testing

/// Replays the corpora of `Tests/Fuzz` through the fuzzers' own checks, which end the process where something is wrong.
@Suite struct FuzzCorpusTests {
    @Test func `scripts of datagrams leave small tables, and devices that can connect`() throws {
        for input in try corpus("FuzzDatagrams") { checkDatagrams(input) }
    }

    @Test func `the replay window agrees with a list`() throws {
        for input in try corpus("FuzzReplayWindow") { checkReplayWindow(input) }
    }

    private func corpus(_ fuzzer: String) throws -> [[UInt8]] {
        let tests = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/")
        let folder = "\(tests)/Fuzz/\(fuzzer)/Corpus"
        guard let directory = unsafe opendir(folder) else { throw HexFixture.Failure.unreadable(folder) }
        defer { _ = unsafe closedir(directory) }
        var inputs: [[UInt8]] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            guard !name.hasPrefix(".") else { continue }
            inputs.append(try #require(HexFixture.contents(ofBytesAt: "\(folder)/\(name)")))
        }
        #expect(inputs.count > 2)
        return inputs
    }
}
