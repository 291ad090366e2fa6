/// The counter of the packets that a session sends; no value is ever given twice.
package struct SendCounter: ~Copyable {
    /// The value that the next packet gets; also how many were sent.
    package private(set) var upcoming: UInt64 = 0

    package init() {}

    /// The counter for one packet; nil when the session has none left (REJECT_AFTER_MESSAGES).
    @_noAllocation @_noLocks
    package mutating func take() -> UInt64? {
        guard upcoming < MessageLimits.rejectAfter else { return nil }
        defer { upcoming &+= 1 }
        return upcoming
    }
}
