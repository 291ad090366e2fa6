package import ControlAPI

/// Which tunnel's outer packets go through which other tunnel.
extension ConfigurationStore {
    /// The configuration that `nestedIn` means: by its identifier, or by its name among the owner's and then the system's.
    package func outer(_ reference: String, for owner: Configuration.Owner) -> Configuration? {
        Nesting.outer(reference, for: owner, among: configurations())
    }

    /// The tunnels that a configuration's packets go through, the next one first, as far as they are stored.
    package func chain(of configuration: Configuration) -> [Configuration] {
        Nesting.chain(of: configuration, among: configurations())
    }

    /// Judges whether a configuration can be started where it is nested.
    ///
    /// - Throws: `configurationInvalid` with the field `nestedIn`.
    package func checkNestingToStart(_ configuration: Configuration) throws(ControlError) {
        do throws(ControlError) {
            try checkNesting(of: configuration)
        } catch {
            var error = error
            error.message = "Can't start \(configuration.name): it can't be nested as `nestedIn` says."
            throw error
        }
    }

    /// Judges where a configuration is nested.
    ///
    /// - Throws: `configurationInvalid` with the field `nestedIn`.
    package func checkNesting(of configuration: Configuration) throws(ControlError) {
        try Nesting.check(configuration, among: configurations())
    }
}
