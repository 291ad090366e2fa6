/// The three sessions that a peer may have at a time: the one in use, the one before it, and one that waits to be used.
///
/// An initiator knows from the response that its peer has the keys, and sends with them at once. A responder doesn't know
/// until the first packet arrives: until then its session waits as `next`. Source: WireGuard whitepaper, section 6.3.
package struct KeyPairSlots<Pair> {
    /// Sends and receives.
    package private(set) var current: Pair?
    /// Only receives: packets that were under way when the session changed.
    package private(set) var previous: Pair?
    /// Only receives, until it has.
    package private(set) var next: Pair?

    package init() {}

    /// All that packets may arrive for.
    package var all: [Pair] { [current, previous, next].compactMap { $0 } }

    /// Takes a new session in.
    ///
    /// - Returns: the sessions that have lost their place and must be forgotten.
    package mutating func install(_ pair: Pair, isInitiator: Bool) -> [Pair] {
        var dropped: [Pair] = []
        if isInitiator {
            if let waiting = next {
                // Both ends started at once: the peer may send with the waiting one, so it is kept to receive.
                dropped = [previous, current].compactMap { $0 }
                previous = waiting
                next = nil
            } else {
                dropped = [previous].compactMap { $0 }
                previous = current
            }
            current = pair
        } else {
            dropped = [next, previous].compactMap { $0 }
            next = pair
            previous = nil
        }
        return dropped
    }

    /// Puts the waiting session to use, since an authentic packet came in under it.
    ///
    /// - Returns: the session that has lost its place.
    package mutating func promote() -> Pair? {
        guard let waiting = next else { return nil }
        let dropped = previous
        previous = current
        current = waiting
        next = nil
        return dropped
    }

    /// Empties the places whose sessions fit.
    ///
    /// - Returns: those that were there.
    package mutating func remove(where fits: (Pair) -> Bool) -> [Pair] {
        let removed = all.filter(fits)
        if let pair = current, fits(pair) { current = nil }
        if let pair = previous, fits(pair) { previous = nil }
        if let pair = next, fits(pair) { next = nil }
        return removed
    }

    /// Empties all places.
    package mutating func removeAll() { self = KeyPairSlots() }
}
