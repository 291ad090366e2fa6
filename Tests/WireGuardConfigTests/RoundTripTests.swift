import ControlAPI
import FoundationEssentials
import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct RoundTripTests {
    private static let rounds: UInt64 = 10_000

    @Test func `what is exported with its secrets is read back as it was, without a warning`() throws {
        for seed in 0..<Self.rounds {
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
