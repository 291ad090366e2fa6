/// A configuration that is stored, and that the running tunnel could not take over.
package struct NotInForceView: Codable, Equatable, Sendable {
    package var generation: Int
    /// Why, and what to do, in sentences.
    package var reason: String

    package init(generation: Int, reason: String) {
        self.generation = generation
        self.reason = reason
    }

    /// All of it, for a person.
    package var sentence: String {
        "Generation \(generation) is stored and not in force: the one before runs on. \(reason)"
    }
}
