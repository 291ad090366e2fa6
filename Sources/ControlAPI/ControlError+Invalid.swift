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

    /// A text of a client's, cut, for a message.
    package static func shown(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(32).map(Character.init))
    }
}
