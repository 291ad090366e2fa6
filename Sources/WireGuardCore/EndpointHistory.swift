import NetworkTypes

/// Notices that two addresses take turns under one key, which roaming doesn't do.
///
/// One key on two machines makes each steal the session from the other. It can't be cured here, only told.
struct EndpointHistory {
    /// Changes back to the address before the last one, within the time below.
    private static let suspiciousReturns = 4
    private static let window = Interval.seconds(60)
    private static let warningEvery = Interval.seconds(3600)

    private var before: Endpoint?
    private var returns: [Instant] = []
    private var lastWarning: Instant?
    /// When it was last seen; nil where it wasn't in the last hour.
    private var lastSuspected: Instant?

    /// The endpoint changes.
    ///
    /// - Returns: whether to warn now.
    mutating func note(from old: Endpoint?, to new: Endpoint, now: Instant) -> Bool {
        defer { before = old }
        guard let before, before == new else {
            returns.removeAll()
            return false
        }
        returns.removeAll { $0 + Self.window < now }
        returns.append(now)
        guard returns.count >= Self.suspiciousReturns else { return false }
        returns.removeFirst()
        lastSuspected = now
        if let lastWarning, now < lastWarning + Self.warningEvery { return false }
        lastWarning = now
        return true
    }

    /// When it was last seen to happen, if within the last hour.
    func suspected(at now: Instant) -> Instant? {
        lastSuspected.flatMap { now < $0 + Self.warningEvery ? $0 : nil }
    }
}
