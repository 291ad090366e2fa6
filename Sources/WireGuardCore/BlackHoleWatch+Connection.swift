import NetworkTypes

/// The connection that is looked at.
struct TCPTrail {
    let flow: TCPFlow
    /// Behind the last byte that was sent.
    var end: UInt32
    var latest: Instant
    /// What is sent again: its first byte, and how often it was.
    var repeated: (sequence: UInt32, count: Int)?
}

/// Bytes that were sent in long packets in vain, and now go in shorter ones.
struct CutTrial {
    let flow: TCPFlow
    let sequence: UInt32
    let failed: Int
    var cut: Int
    var latest: Instant
}

extension BlackHoleWatch {
    mutating func watch(_ trail: TCPTrail?, _ segment: TCPSegment, _ length: Int, _ now: Instant) -> Advice {
        guard var trail, trail.flow == segment.flow else {
            let quiet = trail?.repeated == nil ? BlackHoleWatch.quiet : BlackHoleWatch.quietWhileRepeating
            if let trail, now - trail.latest < quiet { return .whole }
            state = .watching(TCPTrail(flow: segment.flow, end: segment.end, latest: now))
            return .whole
        }
        trail.latest = now
        if !segment.sequence.isBefore(trail.end) {
            trail.end = segment.end
        } else if let repeated = trail.repeated, repeated.sequence == segment.sequence {
            trail.repeated?.count += 1
        } else {
            trail.repeated = (segment.sequence, 1)
        }
        state = .watching(trail)
        guard let repeated = trail.repeated, repeated.sequence == segment.sequence,
            repeated.count >= BlackHoleWatch.patience, let cut = shorter(than: length, first: true)
        else { return .whole }
        state = .trying(
            CutTrial(flow: segment.flow, sequence: segment.sequence, failed: length, cut: cut, latest: now)
        )
        return .cut(first: cut, rest: cut)
    }

    mutating func goOn(_ trial: CutTrial, _ segment: TCPSegment, _ now: Instant) -> Advice {
        var trial = trial
        guard segment.flow == trial.flow, segment.sequence == trial.sequence else {
            if now - trial.latest >= BlackHoleWatch.quietWhileRepeating { state = .watching(nil) }
            return .whole
        }
        // In vain too: shorter still, or the length isn't to blame.
        guard let cut = shorter(than: trial.cut) else {
            state = .watching(nil)
            return .whole
        }
        trial.cut = cut
        trial.latest = now
        state = .trying(trial)
        return .cut(first: cut, rest: cut)
    }

    private func shorter(than length: Int, first isFirst: Bool = false) -> Int? {
        if isFirst, first < length { return first }
        if isFirst, base < length { return base }
        return candidates.last { $0 < min(length, base) }
    }
}
