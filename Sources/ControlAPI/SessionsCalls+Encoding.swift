// Every key stands in the documents of `watch` and `stats`, `null` where there is nothing to say.

extension SessionsCalls.Event {
    private enum Keys: String, CodingKey {
        case sequence, time, kind, identifier, name, status, reason, error, snapshot
    }

    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(sequence, forKey: .sequence)
        try c.encode(time, forKey: .time)
        try c.encode(kind, forKey: .kind)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(name, forKey: .name)
        try c.encode(status, forKey: .status)
        try c.encode(reason, forKey: .reason)
        try c.encode(error, forKey: .error)
        try c.encode(snapshot, forKey: .snapshot)
    }
}

extension SessionsCalls.StatisticsReply {
    private enum Keys: String, CodingKey { case identifier, readAt, counters, peers }

    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(readAt, forKey: .readAt)
        try c.encode(counters, forKey: .counters)
        try c.encode(peers, forKey: .peers)
    }
}
