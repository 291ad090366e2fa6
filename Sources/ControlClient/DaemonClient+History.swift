package import ControlAPI

import VarlinkSocket

extension DaemonClient {
    /// The generations of a configuration, also of a lost one.
    package func history(_ identifier: String) async throws(ControlError) -> ConfigurationsCalls.HistoryReply {
        let parameters = ConfigurationsCalls.LoadParameters(identifier: identifier)
        return try await read(ConfigurationsCalls.interface + ".History", parameters)
    }

    /// Makes an earlier generation the present one, as a new generation.
    ///
    /// - Parameter loaded: the present generation that was loaded; nil: whichever it is.
    package func restore(
        _ identifier: String,
        generation: Int,
        loaded: Int?
    ) async throws(ControlError) -> ConfigurationsCalls.SaveReply {
        let parameters = ConfigurationsCalls.RestoreParameters(
            identifier: identifier,
            generation: generation,
            loaded: loaded
        )
        return try await call(ConfigurationsCalls.interface + ".Restore", parameters).reply
    }

    /// The configurations that only `restore` can bring back.
    package func lost() async throws(ControlError) -> [ConfigurationsCalls.Lost] {
        let method = ConfigurationsCalls.interface + ".Lost"
        let reply: ConfigurationsCalls.LostReply = try await read(method)
        return reply.configurations
    }
}
