import ControlAPI
import NetworkTypes

/// The ordered chain of tunnels in which each one's outer packets go through the next: who is in it, and whether it ends.
enum Nesting {
    /// - Parameter reference: an identifier, or a name.
    static func outer(
        _ reference: String,
        for owner: Configuration.Owner,
        among all: [Configuration]
    ) -> Configuration? {
        let seen = all.filter { $0.owner.user == owner.user || $0.owner.user == 0 }
        if let found = seen.first(where: { $0.identifier == reference }) { return found }
        let named = seen.filter { $0.name == reference }
        return named.first { $0.owner.user == owner.user } ?? named.first
    }

    /// The tunnels around a configuration's, the next one first; where they form a circle, each once.
    static func chain(of configuration: Configuration, among all: [Configuration]) -> [Configuration] {
        var chain: [Configuration] = []
        var last = configuration
        while let reference = last.nestedIn, let next = outer(reference, for: last.owner, among: all) {
            guard next.identifier != configuration.identifier,
                !chain.contains(where: { $0.identifier == next.identifier })
            else { break }
            chain.append(next)
            last = next
        }
        return chain
    }

    /// - Throws: `configurationInvalid` for a tunnel nested in itself, by however many others, or in one that isn't there.
    static func check(_ configuration: Configuration, among all: [Configuration]) throws(ControlError) {
        guard let reference = configuration.nestedIn else { return }
        // The one that is judged counts, not the generation before it.
        let all = all.filter { $0.identifier != configuration.identifier } + [configuration]
        guard let first = outer(reference, for: configuration.owner, among: all) else {
            throw .invalid(
                "nestedIn",
                "There is no configuration \(String(reference.prefix(64)).escapedForTerminal).",
                "It should hold the name or the identifier of another configuration, or be left out."
            )
        }
        guard first.identifier != configuration.identifier else {
            throw .invalid("nestedIn", "It names itself.", "It should hold the name of another configuration.")
        }
        let chain = chain(of: configuration, among: all)
        guard let last = chain.last, let reference = last.nestedIn,
            let next = outer(reference, for: last.owner, among: all)
        else { return }
        let names = ([configuration] + chain + [next]).map(\.name).joined(separator: " in ")
        throw .invalid(
            "nestedIn",
            "The tunnels would be nested in a circle: \(names).",
            "The outermost of a chain must be nested in none."
        )
    }
}
