package import NetworkTypes

/// Merges messages that say the same again and again: the first is said at once, then one a minute with a count.
package struct RepeatFilter: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// Say it; `repeated` more were merged since it was said last.
        case say(repeated: Int)
        case merge
    }

    private struct Topic {
        var saidAt: Instant
        var merged = 0
    }

    private let interval: Interval
    private let capacity: Int
    private var topics: [String: Topic] = [:]

    /// - Parameter capacity: how many topics are remembered; beyond it the one that was said longest ago is forgotten.
    package init(interval: Interval = .seconds(60), capacity: Int = 128) {
        self.interval = interval
        self.capacity = capacity
    }

    /// Decides on one more message.
    ///
    /// - Parameter topic: the same for messages that say the same, such as a tunnel's identifier and the kind of failure.
    package mutating func admit(_ topic: String, at now: Instant) -> Verdict {
        if let known = topics[topic] {
            guard now - known.saidAt >= interval else {
                topics[topic]?.merged += 1
                return .merge
            }
            topics[topic] = Topic(saidAt: now)
            return .say(repeated: known.merged)
        }
        if topics.count >= capacity, let oldest = topics.min(by: { $0.value.saidAt < $1.value.saidAt })?.key {
            topics[oldest] = nil
        }
        topics[topic] = Topic(saidAt: now)
        return .say(repeated: 0)
    }

    /// Forgets a matter that is over, so that the next such message is news.
    ///
    /// - Returns: how many were merged since it was said last.
    @discardableResult
    package mutating func end(_ topic: String) -> Int { topics.removeValue(forKey: topic)?.merged ?? 0 }
}
