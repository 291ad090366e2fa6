import WireGuardConfig

/// Reads a file; what could be read must be read again from its export as it was.
func checkConfigurationFile(_ file: [UInt8]) {
    do throws(ImportErrors) {
        let result = try ConfigurationReader.read(file)
        guard let export = try? ConfigurationWriter.bytes(of: result.configuration, with: result.secrets) else {
            fatalError("a secret of the file is missing")
        }
        let again = try? ConfigurationReader.read(export).configuration
        precondition(again == result.configuration, "the export reads otherwise")
        precondition(WireGuardConfiguration.validate(result.configuration.json).isEmpty, "the JSON is refused")
    } catch {
        precondition(!error.errors.isEmpty && !error.description.isEmpty)
    }
}
