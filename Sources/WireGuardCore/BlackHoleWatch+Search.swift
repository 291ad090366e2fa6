import NetworkTypes

/// What passes, what doesn't, and what is tried between them.
struct LengthSearch {
    struct Probe {
        let flow: TCPFlow
        let sequence: UInt32
        let end: UInt32
        let length: Int
        let sent: Instant
    }

    var passing: Int
    var failing: Int
    let began: Instant
    /// Long packets that were lost once more while shorter ones passed.
    private var losses = 0
    var probe: Probe?

    /// Whether it was none by chance: so many in a row aren't.
    var isConfirmed: Bool { losses >= LengthSearch.lossesInARow }
    private static let lossesInARow = 3

    init(passing: Int, failing: Int, began: Instant) {
        self.passing = passing
        self.failing = failing
        self.began = began
    }

    mutating func probeFailed() {
        if let probe, isConfirmed { failing = probe.length }
        losses += 1
        probe = nil
    }
}

extension BlackHoleWatch {
    mutating func goOn(_ given: LengthSearch, _ segment: TCPSegment, _ length: Int, _ now: Instant) -> Advice {
        var search = given
        var mayProbe = true
        if let probe = search.probe {
            let isRepeated = segment.flow == probe.flow && segment.holds(probe.sequence)
            if isRepeated || now - probe.sent >= BlackHoleWatch.probeLimit { search.probeFailed() }
            // What was lost once isn't risked again.
            mayProbe = !isRepeated && search.probe == nil
        }
        settle(search)
        guard case .searching = state else { return cut(length, to: search.passing) }
        guard now - search.began < BlackHoleWatch.searchLimit else {
            if search.isConfirmed { conclude(search) } else { state = .watching(nil) }
            return cut(length, to: search.passing)
        }
        guard mayProbe, let next = next(search), length >= next else { return cut(length, to: search.passing) }
        let size = min(next - segment.headerLength, segment.payloadLength)
        search.probe = LengthSearch.Probe(
            flow: segment.flow,
            sequence: segment.sequence,
            end: segment.sequence &+ UInt32(truncatingIfNeeded: size),
            length: next,
            sent: now
        )
        state = .searching(search)
        return .cut(first: next, rest: search.passing)
    }

    private func cut(_ length: Int, to passing: Int) -> Advice {
        length > passing ? .cut(first: passing, rest: passing) : .whole
    }

    /// The length to try next: once more what failed, then the middle of what is left.
    private func next(_ search: LengthSearch) -> Int? {
        guard search.isConfirmed else { return search.failing }
        let left = candidates.filter { $0 > search.passing && $0 < search.failing }
        return left.isEmpty ? nil : left[left.count / 2]
    }

    mutating func settle(_ search: LengthSearch) {
        if search.probe == nil, next(search) == nil { conclude(search) } else { state = .searching(search) }
    }

    private mutating func conclude(_ search: LengthSearch) {
        limit = search.passing
        first = search.passing
        finding = Finding(passing: search.passing, failing: search.failing)
        state = .watching(nil)
    }
}
