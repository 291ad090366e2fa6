package import ControlAPI
package import LinuxSystem
import VarlinkCore
import VarlinkSocket

extension DaemonClient {
    package func load(_ identifier: String) async throws(ControlError) -> Configuration {
        let parameters = ConfigurationsCalls.LoadParameters(identifier: identifier)
        let method = ConfigurationsCalls.interface + ".Load"
        let reply: ConfigurationsCalls.LoadReply = try await read(method, parameters)
        guard let configuration = reply.configuration else {
            throw ControlError(.configurationUnknown, "There is no configuration \(identifier).")
        }
        return configuration
    }

    /// All configurations that the caller may see.
    package func loadAll() async throws(ControlError) -> [Configuration] {
        let method = ConfigurationsCalls.interface + ".LoadAll"
        do {
            return try await loadAll(method, on: try await connect())
        } catch {
            throw await translate(error, of: method)
        }
    }

    private func loadAll(_ method: String, on connection: VarlinkConnection) async throws -> [Configuration] {
        do {
            var all: [Configuration] = []
            for try await reply in try await connection.callMore(method, firstReplyTimeout: readPatience) {
                let configuration = try reply.decode(ConfigurationsCalls.LoadReply.self).configuration
                if let configuration { all.append(configuration) }
            }
            return all
        } catch {
            throw silence(error, of: connection, method)
        }
    }

    /// Saves a configuration with its new secrets, both or neither.
    ///
    /// - Parameter secrets: a memfd with a `SecretBundle`, and what each of its secrets is; nil for none.
    package func save(
        _ configuration: Configuration,
        generation: Int,
        secrets: (bundle: SharedDescriptor, descriptions: [ConfigurationsCalls.SecretDescription])? = nil
    ) async throws(ControlError) -> ConfigurationsCalls.SaveReply {
        let parameters = ConfigurationsCalls.SaveParameters(
            configuration: configuration,
            generation: generation,
            secrets: secrets?.descriptions
        )
        let descriptors = secrets.map { [$0.bundle] } ?? []
        return try await call(ConfigurationsCalls.interface + ".Save", parameters, descriptors: descriptors).reply
    }

    package func remove(_ identifier: String, generation: Int?) async throws(ControlError) {
        let parameters = ConfigurationsCalls.RemoveParameters(identifier: identifier, generation: generation)
        let _: NoParameters = try await call(ConfigurationsCalls.interface + ".Remove", parameters).reply
    }

    /// The secrets that a configuration refers to: a memfd with a `SecretBundle`, labelled by their references.
    package func reveal(_ identifier: String) async throws(ControlError) -> SharedDescriptor {
        let parameters = KeychainCalls.RevealParameters(identifier: identifier)
        let method = KeychainCalls.interface + ".Reveal"
        let answer: (reply: KeychainCalls.RevealReply, descriptors: [SharedDescriptor]) =
            try await call(method, parameters)
        guard let bundle = answer.descriptors.first else {
            throw ControlError(.secretUnavailable, "tunneld sent no secrets.", reason: "No memfd came with the reply.")
        }
        return bundle
    }

    package func doctor() async throws(ControlError) -> [Finding] {
        let method = DiagnosticsCalls.interface + ".Doctor"
        let reply: DiagnosticsCalls.DoctorReply = try await call(method, NoParameters()).reply
        return reply.findings
    }
}
