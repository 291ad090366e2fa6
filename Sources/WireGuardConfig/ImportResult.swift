/// A file that was read whole.
package struct ImportResult: ~Copyable {
    /// Holds placeholders (`SecretPlaceholder`) where the file had secrets.
    package let configuration: WireGuardConfiguration
    /// The file's secrets under those placeholders.
    package let secrets: ConfigurationSecrets
    package let report: ImportReport
}
