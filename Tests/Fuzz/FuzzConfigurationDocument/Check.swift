import ControlAPI
import ControlDaemon

/// Reads bytes as a configuration's file: what is taken reads the same after it was written, what isn't is told.
func checkConfigurationDocument(_ bytes: [UInt8]) {
    let identifier = "11111111-2222-4333-8444-555555555555"
    do throws(ConfigurationFile.Fault) {
        let configuration = try ConfigurationFile.decode(bytes, identifier: identifier)
        precondition(configuration.identifier == identifier && !configuration.name.isEmpty)
        guard let written = try? ConfigurationFile.encode(configuration) else { return }
        let again = try? ConfigurationFile.decode(written, identifier: identifier)
        precondition(again == configuration, "it reads otherwise")
    } catch {
        precondition(!error.description.isEmpty)
    }
}
