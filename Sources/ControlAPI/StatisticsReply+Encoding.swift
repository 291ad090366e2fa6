extension SessionsCalls.StatisticsReply {
    private enum Keys: String, CodingKey { case identifier, readAt, counters, peers }

    /// Every key stands in the document of `stats`, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(readAt, forKey: .readAt)
        try c.encode(counters, forKey: .counters)
        try c.encode(peers, forKey: .peers)
    }
}
