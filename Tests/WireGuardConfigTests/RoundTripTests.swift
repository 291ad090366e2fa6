import ControlAPI
import FoundationEssentials
import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct RoundTripTests {
    /// 10,000 rounds in parts that run side by side.
    private static let parts: [Range<UInt64>] = (0..<8).map { $0 * 1250..<($0 + 1) * 1250 }

    @Test(arguments: parts)
    func `what is exported with its secrets is read back as it was`(seeds: Range<UInt64>) throws {
        for seed in seeds {
            let random = RandomConfiguration(seed: seed)
            let file = try ConfigurationWriter.bytes(of: random.configuration, with: random.secrets)
            let result: ImportResult
            do {
                result = try ConfigurationReader.read(file)
            } catch {
                Issue.record("seed \(seed): \(error)")
                continue
            }
            #expect(result.configuration == random.configuration, "seed \(seed)")
            #expect(result.secrets.references == random.secrets.references, "seed \(seed)")
            for reference in random.secrets.references {
                let same = result.secrets.bytes(for: reference) == random.secrets.bytes(for: reference)
                #expect(same, "seed \(seed), \(reference)")
            }
            #expect(result.report.entries.allSatisfy { $0.kind != .changed }, "seed \(seed)")
        }
    }

    @Test func `what is written as JSON is decoded as it was, and validates`() throws {
        for seed in 0..<300 as Range<UInt64> {
            let configuration = RandomConfiguration(seed: seed).configuration
            let data = try JSONEncoder().encode(configuration)
            #expect(try JSONDecoder().decode(WireGuardConfiguration.self, from: data) == configuration, "seed \(seed)")
            #expect(WireGuardConfiguration.validate(configuration.json) == [], "seed \(seed)")
        }
    }
}
