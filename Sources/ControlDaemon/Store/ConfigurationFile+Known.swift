import ControlAPI
import FoundationEssentials

extension ConfigurationFile {
    /// Reads a file in one pass, as thousands are at a start.
    ///
    /// - Returns: nil where anything isn't as tunneld writes it: then the long way tells what.
    static func readKnown(_ path: String, identifier: String) -> Configuration? {
        guard let bytes = try? contents(of: path, anybodys: false),
            let document = try? JSONDecoder().decode(KnownDocument.self, from: Data(bytes)), document.isKnown
        else { return nil }
        let configuration = document.configuration
        guard configuration.identifier == identifier, configuration.generation > 0, !configuration.name.isEmpty,
            (1...ConfigurationRules.version).contains(configuration.version),
            (try? ConfigurationRules.check(configuration)) != nil
        else { return nil }
        return configuration
    }
}

/// A configuration's document, and whether this version knows all of its members.
private struct KnownDocument: Decodable {
    let configuration: Configuration
    let isKnown: Bool

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        configuration = try Configuration(from: decoder)
        let members = try decoder.container(keyedBy: AnyKey.self)
        var isKnown = members.allKeys.allSatisfy { ConfigurationMembers.own.contains($0.stringValue) }
        for (part, names) in ConfigurationMembers.parts where isKnown {
            guard members.contains(AnyKey(stringValue: part)), try !members.decodeNil(forKey: AnyKey(stringValue: part))
            else { continue }
            let inner = try members.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey(stringValue: part))
            isKnown = inner.allKeys.allSatisfy { names.contains($0.stringValue) }
        }
        self.isKnown = isKnown
    }
}
