import ControlAPI
import FoundationEssentials
import WireGuardConfig

/// Validates and decodes JSON: both must agree, and what is good must be written as it was read.
func checkConfigurationJSON(_ bytes: [UInt8]) {
    guard let json = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return }
    let faults = WireGuardConfiguration.validate(json)
    do throws(FieldErrors) {
        let configuration = try WireGuardConfiguration(json: json)
        precondition(faults.isEmpty, "validating refuses what decoding takes")
        precondition(
            (try? WireGuardConfiguration(json: configuration.json)) == configuration,
            "the JSON reads otherwise"
        )
    } catch {
        precondition(error.errors == faults && !faults.isEmpty, "validating takes what decoding refuses")
    }
}
