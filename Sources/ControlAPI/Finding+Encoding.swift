extension Finding {
    private enum Keys: String, CodingKey { case check, level, message, remedy }

    /// Every key stands in the document, `null` where there is nothing to mend.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(check, forKey: .check)
        try c.encode(level, forKey: .level)
        try c.encode(message, forKey: .message)
        try c.encode(remedy, forKey: .remedy)
    }
}
