import NetworkTypes

/// Decides which handshake messages are worth the cost of X25519, so that a flood can't starve honest peers.
///
/// Each source has an allowance; what is beyond it gets a cookie as answer. While more come in from all sources together
/// than can be served, and for a second after, everything without a valid cookie gets one. With a valid cookie a source is
/// proven, and competes only with others that are. All tables and rates have limits.
///
/// Source: WireGuard whitepaper, section 5.3; the rates are tunneld's.
struct HandshakeLimiter {
    enum Decision: Hashable { case serve, answerWithCookie, drop }

    /// A handshake costs about 0.3 ms, so this is at most a tenth of a core for unproven sources, a fifth for proven ones.
    private var unproven = TokenBucket(perSecond: 256, burst: 256)
    private var proven = TokenBucket(perSecond: 512, burst: 512)
    private var cookies = TokenBucket(perSecond: 8192, burst: 1024)
    private var unprovenSources = SourceTable(perSecond: 20, burst: 20)
    private var provenSources = SourceTable(perSecond: 50, burst: 50)
    private var loadedUntil = Instant.zero

    /// When `expire` has something to do: only after a flood has left many sources behind.
    var deadline: Instant? { [unprovenSources.deadline, provenSources.deadline].compactMap { $0 }.min() }

    /// The sources remembered; at most twice the limit of a table.
    var sourceCount: Int { unprovenSources.count + provenSources.count }

    mutating func decide(from source: Endpoint, hasValidCookie: Bool, now: Instant) -> Decision {
        if hasValidCookie {
            return provenSources.take(source.address, now: now) && proven.take(now: now) ? .serve : .drop
        }
        if unprovenSources.take(source.address, now: now) {
            // Those that only get a cookie count too: the rate of arrival is what load is measured by.
            if !unproven.take(now: now) { loadedUntil = now + .seconds(1) }
            if now >= loadedUntil { return .serve }
        } else if unprovenSources.isFull {
            loadedUntil = now + .seconds(1)
        }
        return cookies.take(now: now) ? .answerWithCookie : .drop
    }

    /// Gives back the memory of sources not heard from lately.
    mutating func expire(now: Instant) {
        unprovenSources.expire(now: now)
        provenSources.expire(now: now)
    }
}

/// The allowances of single sources: an IPv4 address, or the first 64 bits of an IPv6 address, since a host has all of them.
private struct SourceTable {
    private enum Key: Hashable {
        case v4(UInt32)
        case v6(UInt64)
    }

    private static let limit = 4096
    private let interval: Interval
    private let burst: Interval
    /// A table of this size is kept for ever: it isn't worth a timer.
    private static let keptWithoutTimer = 64

    /// When each source's bucket will be full again.
    private var fullAt: [Key: Instant] = [:]
    private var lastSweep = Instant.zero

    init(perSecond: Int, burst: Int) {
        interval = Interval(nanoseconds: 1_000_000_000 / Int64(perSecond))
        self.burst = interval * burst
    }

    var count: Int { fullAt.count }
    var isFull: Bool { fullAt.count >= Self.limit }

    var deadline: Instant? { fullAt.count > Self.keptWithoutTimer ? lastSweep + .seconds(2) : nil }

    mutating func take(_ address: IPAddress, now: Instant) -> Bool {
        let key: Key =
            switch address {
            case .v4(let v4): .v4(v4.value)
            case .v6(let v6): .v6(v6.high)
            }
        let known = fullAt[key]
        if known == nil, isFull {
            sweep(now: now)
            guard !isFull else { return false }
        }
        if known == nil, fullAt.count == Self.keptWithoutTimer { lastSweep = now }
        let next = max(known ?? .zero, now) + interval
        guard next - now <= burst else { return false }
        fullAt[key] = next
        return true
    }

    mutating func expire(now: Instant) {
        guard let deadline, now >= deadline else { return }
        sweep(now: now)
    }

    /// At most once in the time that a bucket takes to fill: before that there is nothing to gain.
    private mutating func sweep(now: Instant) {
        guard now >= lastSweep + burst else { return }
        lastSweep = now
        fullAt = fullAt.filter { $0.value > now }
    }
}
