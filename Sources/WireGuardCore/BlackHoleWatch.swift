package import NetworkTypes

/// Finds out that the path to a peer swallows long datagrams without a word (a "black hole"; RFC 2923, section 2.1).
///
/// WireGuard's data carries no acknowledgement, but the TCP inside does. What TCP sends the third time in the same long packet
/// is cut into shorter ones, as a network card cuts; where that is acknowledged, the length may be to blame, or chance. So
/// single long packets are risked: where one passes, it was chance. Where three don't, others are, to find how long packets may
/// be, while all else goes cut to what has passed; what is lost with one of them TCP sends again at once. A dead host or an ordinary
/// loss never leads to a finding, for they lose the short ones too, or pass a long one.
///
/// What the peer sends can't be found out about: only the sender knows what it sends again.
package struct BlackHoleWatch: Sendable {
    package enum Advice: Equatable, Sendable {
        /// Let it go as it is.
        case whole
        /// Cut it into packets of at most so many bytes, the first and the others.
        case cut(first: Int, rest: Int)
    }

    /// Lengths of packets that are acknowledged, and of those that aren't.
    package struct Finding: Equatable, Sendable {
        package let passing: Int
        package let failing: Int
    }

    /// Transmissions of the same bytes in a long packet, after which they are cut.
    static let patience = 2
    /// How long the one connection that is looked at may be quiet before another is: usually, and while it sends again.
    static let quiet = Interval.seconds(1)
    static let quietWhileRepeating = Interval.seconds(10)
    /// What isn't acknowledged after so long counts as lost, also where its connection has ended.
    static let probeLimit = Interval.seconds(5)
    /// A search that gets nowhere, because nobody sends anything long any more.
    static let searchLimit = Interval.seconds(60)

    enum State {
        case watching(TCPTrail?)
        case trying(CutTrial)
        case searching(LengthSearch)
    }

    var state = State.watching(nil)
    /// Packets' lengths for the usual sizes of outer ones, ascending.
    let candidates: [Int]
    /// The length that is tried first: what each path is to take, or what was found the last time.
    var first: Int
    let base: Int
    /// No longer packet passes, as was found out; `Int.max` where nothing was.
    package internal(set) var limit = Int.max
    var finding: Finding?

    /// - Parameter isIPv6: whether the outer packets are of IPv6.
    package init(isIPv6: Bool) {
        let overhead = PathLimit.overhead(isIPv6: isIPv6)
        candidates = BlackHoleWatch.sizes.filter { !isIPv6 || $0 >= 1280 }.map { $0 - overhead }
        base = 1280 - overhead
        first = base
    }

    /// What links and tunnels commonly leave: PPPoE and tunnels of all kinds; 1340 and 1360 are the least with which IPv6
    /// passes inside; below 1280 only IPv4 goes (RFC 791: 576).
    static let sizes = [576, 1280, 1340, 1360, 1380, 1400, 1420, 1440, 1450, 1460, 1472, 1480, 1492]

    /// Whether a packet of that length is worth `sending`'s look.
    package func watches(_ length: Int) -> Bool { length > (limit > base ? base : candidates[0]) }

    /// Whether acknowledgements are waited for.
    package var listens: Bool {
        if case .watching = state { false } else { true }
    }

    /// What was found out since the last time.
    package mutating func takeFinding() -> Finding? {
        defer { finding = nil }
        return finding
    }

    /// Forgets the limit, for the path may carry more now; what was found is tried first the next time.
    package mutating func raise() {
        state = .watching(nil)
        limit = .max
    }

    /// Decides on a packet to the peer.
    ///
    /// - Parameter length: of the packet, or of the first of those that a super-packet stands for.
    package mutating func sending(_ segment: TCPSegment, length: Int, now: Instant) -> Advice {
        guard segment.isDivisible, segment.payloadLength > 0, length <= limit else { return .whole }
        switch state {
        case .watching(let trail): return watch(trail, segment, length, now)
        case .trying(let trial): return goOn(trial, segment, now)
        case .searching(let search): return goOn(search, segment, length, now)
        }
    }

    /// Takes what the peer's side has acknowledged.
    ///
    /// - Parameters:
    ///   - flow: of the packets to the peer.
    ///   - number: the byte that is expected next.
    package mutating func acknowledged(_ flow: TCPFlow, upTo number: UInt32, now: Instant) {
        switch state {
        case .watching: break
        case .trying(let trial):
            guard flow == trial.flow, trial.sequence.isBefore(number) else { return }
            state = .searching(LengthSearch(passing: trial.cut, failing: trial.failed, began: now))
        case .searching(var search):
            guard let probe = search.probe, flow == probe.flow, !number.isBefore(probe.end) else { return }
            guard search.isConfirmed else {
                // A long packet passed: the losses were chance.
                state = .watching(nil)
                return
            }
            search.passing = probe.length
            search.probe = nil
            settle(search)
        }
    }
}

extension TCPSegment {
    var end: UInt32 { sequence &+ UInt32(truncatingIfNeeded: payloadLength) }

    /// Whether a byte is in its payload.
    func holds(_ number: UInt32) -> Bool { !number.isBefore(sequence) && number.isBefore(end) }
}

extension UInt32 {
    /// Whether a sequence number comes before another (RFC 9293, section 3.4).
    func isBefore(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) < 0 }
}
