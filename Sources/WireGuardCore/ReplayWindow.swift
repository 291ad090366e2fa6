/// The counters that a session has taken: each is taken once, and none that lies 8,192 or more behind the greatest.
///
/// A ring of bits in the manner of RFC 6479: going forward clears whole words, and nothing is ever shifted.
package struct ReplayWindow: ~Copyable {
    /// The counters that may still arrive late.
    package static var size: UInt64 { @_noAllocation @_noLocks get { 8192 } }

    /// One word more than the window has, since its ends seldom lie on words.
    private static var wordCount: UInt64 { @_noAllocation @_noLocks get { size / 64 + 1 } }
    private var words: [129 of UInt64] = .init(repeating: 0)
    private var greatest: UInt64 = 0

    package init() {}

    /// Whether a counter is out of reach: too old, or beyond REJECT_AFTER_MESSAGES.
    ///
    /// The cheap check before the packet is opened; it changes nothing.
    @_noAllocation @_noLocks
    package func isOutOfReach(_ counter: UInt64) -> Bool {
        counter >= MessageLimits.rejectAfter || (counter <= greatest && greatest &- counter >= Self.size)
    }

    /// Takes the counter of a packet that has proven authentic.
    ///
    /// - Returns: false where it was taken before or is out of reach; the packet must then be dropped.
    @_noAllocation @_noLocks
    package mutating func accept(_ counter: UInt64) -> Bool {
        guard !isOutOfReach(counter) else { return false }
        let word = counter >> 6
        if counter > greatest {
            let last = greatest >> 6
            var steps = word &- last
            if steps > Self.wordCount { steps = Self.wordCount }
            while steps > 0 {
                words[Int((word &- steps &+ 1) % Self.wordCount)] = 0
                steps &-= 1
            }
            greatest = counter
        }
        let index = Int(word % Self.wordCount)
        let bit: UInt64 = 1 << (counter & 63)
        guard words[index] & bit == 0 else { return false }
        words[index] |= bit
        return true
    }
}
