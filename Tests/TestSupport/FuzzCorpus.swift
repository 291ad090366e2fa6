import Glibc

/// The inputs of a fuzzer's corpus: `Tests/Fuzz/<fuzzer>/Corpus`.
///
/// - Throws: where the folder or a file of it can't be read, or there are none.
package func fuzzCorpus(_ fuzzer: String, testFile: String = #filePath) throws -> [[UInt8]] {
    // The caller is a file of Tests/<Module>Tests.
    let tests = testFile.split(separator: "/").dropLast(2).joined(separator: "/")
    let folder = "/\(tests)/Fuzz/\(fuzzer)/Corpus"
    guard let directory = unsafe opendir(folder) else { throw HexFixture.Failure.unreadable(folder) }
    defer { _ = unsafe closedir(directory) }
    var inputs: [[UInt8]] = []
    while let entry = unsafe readdir(directory) {
        let name = unsafe withUnsafePointer(to: entry.pointee.d_name) { name in
            unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
        }
        guard !name.hasPrefix(".") else { continue }
        guard let bytes = HexFixture.contents(ofBytesAt: "\(folder)/\(name)") else {
            throw HexFixture.Failure.unreadable("\(folder)/\(name)")
        }
        inputs.append(bytes)
    }
    guard !inputs.isEmpty else { throw HexFixture.Failure.unreadable(folder) }
    return inputs
}
