import ControlAPI
import ControlClient

extension CommandContext {
    /// What a change of a stored configuration came to.
    struct Change {
        let before: Configuration
        let after: Configuration
        let saved: ConfigurationsCalls.SaveReply

        var isNew: Bool { saved.generation != before.generation }
    }

    /// How often a change is made anew because somebody else saved in between.
    private static let attempts = 5

    /// Loads the configuration that the first word means, changes its document, and saves it.
    ///
    /// - Parameter body: makes the change; again, in a newer copy, where somebody else saved meanwhile.
    func change(_ body: (inout JSONValue) throws -> Void) async throws -> Change {
        for attempt in 1... {
            let before = try await findConfiguration()
            var document = try JSONValue(encoding: before)
            try body(&document)
            let after = try Self.configuration(from: document)
            do throws(ControlError) {
                let saved = try await save(after, generation: before.generation, whereTaken: "Give another name.")
                return Change(before: before, after: after, saved: saved)
            } catch {
                guard error.name == .configurationStale, attempt < Self.attempts else { throw error }
            }
        }
        throw ControlError(.configurationStale, "The configuration changes all the time.")
    }

    /// A document that a person changed, as a configuration.
    static func configuration(from document: JSONValue) throws -> Configuration {
        try Configuration.Kind.check(document["type"])
        do {
            return try document.decoded()
        } catch let error as DecodingError {
            throw ControlError.invalid(
                error.field.isEmpty ? "configuration" : error.field,
                error.fault,
                "`tunnelctl help set` has the keys and what they hold."
            )
        }
    }
}
