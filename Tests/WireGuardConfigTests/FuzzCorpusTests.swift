import ControlAPI
import FoundationEssentials
import Testing
import WireGuardConfig

/// Replays the corpora of `Tests/Fuzz`, with the checks of the fuzzers.
@Suite struct FuzzCorpusTests {
    private static func corpus(_ fuzzer: String) throws -> [[UInt8]] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "Fuzz/\(fuzzer)/Corpus")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        return try names.map { Array(try Data(contentsOf: folder.appending(path: $0))) }
    }

    @Test func `a file that can be read is read again from its export as it was`() throws {
        let files = try Self.corpus("FuzzConfigurationFile")
        var good = 0
        for file in files {
            guard let result = try? ConfigurationReader.read(file) else { continue }
            good += 1
            let export = try ConfigurationWriter.bytes(of: result.configuration, with: result.secrets)
            #expect(try Reading(export).configuration == result.configuration)
            #expect(WireGuardConfiguration.validate(result.configuration.json) == [])
        }
        #expect(good > 0 && good < files.count)
    }

    @Test func `validating JSON and reading it agree`() throws {
        let documents = try Self.corpus("FuzzConfigurationJSON")
        var good = 0
        for document in documents {
            guard let json = try? JSONDecoder().decode(JSONValue.self, from: Data(document)) else { continue }
            let faults = WireGuardConfiguration.validate(json)
            do throws(FieldErrors) {
                let configuration = try WireGuardConfiguration(json: json)
                good += 1
                #expect(faults == [])
                #expect(try WireGuardConfiguration(json: configuration.json) == configuration)
            } catch {
                #expect(error.errors == faults)
            }
        }
        #expect(good > 0 && good < documents.count)
    }
}
