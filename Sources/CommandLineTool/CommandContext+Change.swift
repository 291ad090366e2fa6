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
        do {
            return try document.decoded()
        } catch let error as DecodingError {
            let field = Self.field(of: error)
            throw ControlError(
                .configurationInvalid,
                "The configuration can't be saved: \(field.isEmpty ? "it" : field) isn't what it should be.",
                reason: Self.fault(of: error),
                remedy: "`tunnelctl help set` has the keys and what they hold.",
                field: field.isEmpty ? nil : field
            )
        }
    }

    private static func field(of error: DecodingError) -> String {
        let context: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
                .dataCorrupted(let context):
                context
            @unknown default: nil
            }
        var keys = context?.codingPath ?? []
        if case .keyNotFound(let key, _) = error { keys.append(key) }
        return keys.reduce("") { path, key in
            if let index = key.intValue { return "\(path)[\(index)]" }
            return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
        }
    }

    private static func fault(of error: DecodingError) -> String {
        switch error {
        case .keyNotFound: "It is missing."
        case .valueNotFound: "It is null."
        case .typeMismatch(let type, _): "It has the wrong type; expected is \(name(of: type))."
        default: "It has a value that isn't known."
        }
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is Bool.Type: "true or false"
        case is String.Type: "a text"
        case is any BinaryInteger.Type: "a whole number"
        case is any Collection.Type: "an array"
        default: "an object"
        }
    }
}
