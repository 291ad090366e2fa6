import NetworkTypes

/// What paths were found to carry that swallow longer packets without a word, and when they are tried with them again.
struct PathFindings {
    struct Finding: Equatable {
        /// Outer packets, IP header included: the longest that passes, and one that doesn't.
        let passing: Int
        let failing: Int
        let isTriedAgainAt: Instant
    }

    /// PMTU_RAISE_TIMER, RFC 8899, section 5.1.1; each try in vain doubles it, up to 2 hours and 40 minutes.
    static let raiseAfter = Interval.seconds(600)
    private static let doublings = 4
    /// Addresses that are remembered: more than a tunnel's peers reasonably have.
    static let limit = 64

    private(set) var findings: [IPAddress: Finding] = [:]
    /// How often each was found so in this network.
    private var times: [IPAddress: Int] = [:]

    /// Takes a finding of the packet loop.
    mutating func note(_ address: IPAddress, passing: Int, failing: Int, now: Instant) {
        if times.count >= Self.limit, times[address] == nil { self = PathFindings() }
        let factor = 1 << min(times[address] ?? 0, Self.doublings)
        times[address, default: 0] += 1
        findings[address] = Finding(
            passing: passing,
            failing: failing,
            isTriedAgainAt: now + Self.raiseAfter * factor
        )
    }

    /// When the next is to be tried again.
    var deadline: Instant? { findings.values.map(\.isTriedAgainAt).min() }

    /// Gives up those whose time has come.
    ///
    /// - Returns: their addresses.
    mutating func raise(now: Instant) -> [IPAddress] {
        let due = findings.filter { $0.value.isTriedAgainAt <= now }.keys.sorted()
        for address in due { findings[address] = nil }
        return due
    }

    /// What tunneld is told: the longest outer packet by address.
    var limits: [String: Int]? {
        findings.isEmpty
            ? nil : Dictionary(uniqueKeysWithValues: findings.map { ($0.key.description, $0.value.passing) })
    }

    /// What a person is told.
    ///
    /// - Parameter stated: the MTU in the configuration, which stays.
    func notes(stated: Int?, clock: WallClock) -> [String] {
        findings.sorted { $0.key < $1.key }.map { address, finding in
            let inside = finding.passing - (address.isIPv6 ? 80 : 60)
            let lost =
                "The path to \(address) loses packets of \(finding.failing) bytes without a word (no \"too big\" comes back), "
                + "and carries \(finding.passing)"
            if let stated {
                return
                    "\(lost). The MTU stays \(stated), as the configuration states it: state \(inside), or leave it out."
            }
            let time = clock.timestamp(ahead: finding.isTriedAgainAt)
            return "\(lost): the MTU is at most \(inside) therefore. Longer ones are tried again at \(time)."
        }
    }
}
