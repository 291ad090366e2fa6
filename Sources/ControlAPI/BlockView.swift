/// The block (kill switch) as it concerns one configuration.
package struct BlockView: Codable, Equatable, Sendable {
    /// Whether traffic outside of the tunnels is blocked.
    package var inForce: Bool
    /// Since when; null while it isn't.
    package var since: Timestamp?
    /// Whether it stands for this configuration.
    package var held: Bool
    /// The names of all configurations for which it stands; other users' are left out.
    package var holders: [String]
    /// Why it is in force, or isn't, in one sentence.
    package var reason: String
    /// What lifts it; null where nothing is to be done.
    package var remedy: String?
    /// How often its rules were put back that others had removed or changed, and when they last were.
    package var restored: Int
    package var lastRestored: Timestamp?

    package init(
        inForce: Bool,
        since: Timestamp?,
        held: Bool,
        holders: [String],
        reason: String,
        remedy: String?,
        restored: Int,
        lastRestored: Timestamp?
    ) {
        self.inForce = inForce
        self.since = since
        self.held = held
        self.holders = holders
        self.reason = reason
        self.remedy = remedy
        self.restored = restored
        self.lastRestored = lastRestored
    }

    private enum CodingKeys: String, CodingKey {
        case inForce, since, held, holders, reason, remedy, restored, lastRestored
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(inForce, forKey: .inForce)
        try c.encode(since, forKey: .since)
        try c.encode(held, forKey: .held)
        try c.encode(holders, forKey: .holders)
        try c.encode(reason, forKey: .reason)
        try c.encode(remedy, forKey: .remedy)
        try c.encode(restored, forKey: .restored)
        try c.encode(lastRestored, forKey: .lastRestored)
    }
}
