extension ControlError {
    /// A field of a configuration that can't be saved as it is.
    ///
    /// - Parameters:
    ///   - field: its path: "provider.configuration.peers[2]".
    ///   - fault: what is wrong with it, in a sentence.
    ///   - wanted: what it should hold, in a sentence.
    package static func invalid(_ field: String, _ fault: String, _ wanted: String) -> ControlError {
        ControlError(
            .configurationInvalid,
            "The configuration can't be saved: \(field) is wrong.",
            reason: fault,
            remedy: wanted,
            field: field
        )
    }

    /// A text of a client's for a message, in quotes: "`wiFi`".
    package static func quoted(_ text: String) -> String {
        shown(text).map { "`\($0)`" } ?? "a text of \(text.utf8.count) bytes"
    }

    /// A name of a client's for a message.
    package static func named(_ text: String) -> String {
        shown(text) ?? "a member with a name of \(text.utf8.count) bytes"
    }

    /// Nil for a long one: it may be a key that stands in the wrong place, and no part of a key is ever shown.
    private static func shown(_ text: String) -> String? {
        guard text.utf8.count <= longestShown else { return nil }
        return String(text.unicodeScalars.filter { $0.properties.generalCategory != .control }.map(Character.init))
    }

    /// Bytes; a key of 32 bytes takes 43 in base64.
    private static let longestShown = 30

    /// A text as a sentence: with a capital letter and an end.
    package static func sentence(_ text: String) -> String {
        let isEnded = text.last.map { ".!?".contains($0) } ?? true
        return text.prefix(1).uppercased() + text.dropFirst() + (isEnded ? "" : ".")
    }
}
