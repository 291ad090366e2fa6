import NetworkTypes

/// How often what others undo is done again: at once now and then, seldom where somebody keeps at it.
struct PushLimiter: Sendable {
    /// So many within so long; what goes beyond is a fight.
    private static let limits: [(count: Int, within: Interval)] = [(5, .seconds(10)), (20, .seconds(300))]
    /// What several steps of another program undo is done again once.
    private static let least = Interval.milliseconds(200)
    /// How long a fight is remembered after the last push that had to wait.
    private static let memory = Interval.seconds(60)

    private var times: [Instant] = []
    private var foughtAt: Instant?

    enum Decision: Equatable { case now, at(Instant) }

    /// Whether to do it now; counts it, if so.
    mutating func decide(_ now: Instant) -> Decision {
        times.removeAll { now - $0 > Self.limits[1].within }
        if let last = times.last, now - last < Self.least { return .at(last + Self.least) }
        for limit in Self.limits where times.count >= limit.count {
            let next = times[times.count - limit.count] + limit.within
            if now < next {
                foughtAt = now
                return .at(next)
            }
        }
        times.append(now)
        return .now
    }

    /// Whether somebody keeps undoing it.
    func isFought(_ now: Instant) -> Bool { foughtAt.map { now - $0 < Self.memory } ?? false }
}

extension PushLimiter {
    /// How often it is still done where somebody keeps undoing it, in words.
    static let pace = "less and less often, at most 20 times in five minutes"
}
