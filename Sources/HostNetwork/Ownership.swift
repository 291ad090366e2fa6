/// The marks by which what tunneld made is told from what others made.
package enum Ownership {
    /// Stands on each of our routes and rules; in nobody's list (/etc/iproute2/rt_protos, linux/rtnetlink.h).
    package static let routingProtocol: UInt8 = 140

    /// The bit that all outer packets carry, whatever tunnel they belong to.
    ///
    /// One for all: with a mark per tunnel, two full tunnels would send each other's packets in a circle.
    package static let outerMark: UInt32 = 0x0800_0000
    package static let outerMask: UInt32 = 0x0800_0000

    /// The routing tables that tunnels take theirs from ("tun" and a number).
    package static let tables: ClosedRange<UInt32> = 0x7475_6e00...0x7475_6eff

    /// Where the rules stand that let packets pass all tunnels, ahead of every tunnel's own.
    package static let exemptionPriority: UInt32 = 9_900

    /// The priorities that tunnels take their rules from; each has `priorityBlock` of them, the later tunnel the lower.
    package static let priorities: ClosedRange<UInt32> = 10_000...29_999
    package static let priorityBlock: UInt32 = 8
}
