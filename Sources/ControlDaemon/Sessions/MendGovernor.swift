package import NetworkTypes

/// Decides when network settings that others took away are put back, and when that has become a fight.
///
/// Whoever removes them by mistake, or restarts a network manager, does so a few times; whoever has it in for them goes on
/// for ever, and then it is better to say so than to keep a processor busy. Nobody can tell the two apart by one removal,
/// so each costs a second of a debt that time pays off.
package struct MendGovernor: Sendable {
    package enum Decision: Equatable, Sendable {
        /// Put them back now, then call `mended`.
        case mend
        /// Look again at this instant.
        case wait(until: Instant)
        /// Leave them; look again at this instant. `isNews`: this hasn't been said yet.
        case rest(until: Instant, isNews: Bool)
    }

    /// What each time costs, and the debt at which it has become a fight: fifty rounds of removing everything, one by
    /// one and all at once, are not there yet.
    static let cost = Interval.seconds(1)
    static let limit = Interval.seconds(300)
    /// How many more times after a rest, before the next one.
    static let attemptsAfterRest = 20
    /// How long all must be quiet; doubled with each rest that didn't end it.
    static let firstRest = Interval.seconds(10)
    static let longestRest = Interval.seconds(320)
    /// The least time between two, and the most that a long one is given: it takes a fifth of a processor at most.
    private static let leastSpacing = Interval.milliseconds(20)
    private static let mostSpacing = Interval.milliseconds(250)
    private static let spacingPerDuration = 4

    /// When the debt will be paid.
    private var paidAt = Instant.zero
    /// How many times since the debt was paid, and when the first of them was.
    package private(set) var count = 0
    package private(set) var since = Instant.zero
    private var earliest = Instant.zero
    private var rest: Interval?
    private var restsUntil: Instant?

    package init() {}

    /// Whether it has been given up for now.
    package var isResting: Bool { restsUntil != nil }

    /// How long all must be quiet now before it is tried again.
    package var restLength: Interval { rest ?? Self.firstRest }

    /// Something is missing.
    ///
    /// - Parameter isFresh: whether it was just taken away; while resting, that makes the rest begin anew.
    package mutating func lossFound(isFresh: Bool, now: Instant) -> Decision {
        if let until = restsUntil {
            if isFresh { restsUntil = now + restLength }
            guard now >= until, !isFresh else { return .rest(until: restsUntil ?? until, isNews: false) }
            restsUntil = nil
            paidAt = now + Self.limit + Self.cost * -Self.attemptsAfterRest
        }
        if paidAt <= now {
            rest = nil
            count = 0
            since = now
        }
        if (paidAt - now) + Self.cost > Self.limit { return giveUp(now) }
        if now < earliest { return .wait(until: earliest) }
        return .mend
    }

    /// They were put back, or that was tried.
    package mutating func mended(from begin: Instant, to end: Instant) {
        paidAt = max(paidAt, end) + Self.cost
        count += 1
        let spacing = min(max((end - begin) * Self.spacingPerDuration, Self.leastSpacing), Self.mostSpacing)
        earliest = end + spacing
    }

    /// They can't be put back: there's no point in trying again soon.
    package mutating func failed(now: Instant) -> Decision { giveUp(now) }

    /// All is as it should be, by whomever.
    package mutating func whole() { restsUntil = nil }

    private mutating func giveUp(_ now: Instant) -> Decision {
        rest = rest.map { min($0 * 2, Self.longestRest) } ?? Self.firstRest
        let until = now + restLength
        restsUntil = until
        return .rest(until: until, isNews: true)
    }
}
