import FoundationEssentials
import Testing
import WireGuardConfig

/// The files of `Fixtures/Malformed`, each with the messages that it must give beside it.
@Suite struct MalformedFileTests {
    struct Fixture: CustomTestStringConvertible {
        let name: String
        let file: [UInt8]
        let expected: String
        var testDescription: String { name }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Fixtures/Malformed")

    private static func fixtures() throws -> [Fixture] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try names.filter { $0.hasSuffix(".conf") }.sorted().map { name in
            let expected = folder.appending(path: name.dropLast(5) + ".expected")
            return Fixture(
                name: name,
                file: Array(try Data(contentsOf: folder.appending(path: name))),
                expected: try String(contentsOf: expected, encoding: .utf8)
            )
        }
    }

    @Test func `there are at least forty files`() throws {
        #expect(try Self.fixtures().count >= 40)
    }

    @Test(arguments: try fixtures())
    func `a malformed file gives its messages, all at once`(fixture: Fixture) {
        #expect(messages(of: fixture.file) + "\n" == fixture.expected)
    }

    @Test(arguments: try fixtures())
    func `no message holds eight characters of a long word of the file`(fixture: Fixture) {
        let text = messages(of: fixture.file)
        let words = fixture.file.split { !isOfSecret($0) }.filter { $0.count >= 30 }
        for word in words {
            for start in word.indices.dropLast(7) {
                let piece = String(decoding: word[start..<start + 8], as: UTF8.self)
                #expect(!text.contains(piece), "\(fixture.name)")
            }
        }
    }

    private func messages(of file: [UInt8]) -> String {
        do {
            _ = try ConfigurationReader.read(file)
            return "no error"
        } catch {
            return error.description
        }
    }

    private func isOfSecret(_ byte: UInt8) -> Bool {
        byte >= 0x80 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || "+/=-_".utf8.contains(byte)
    }
}
