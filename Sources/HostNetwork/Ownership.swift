/// The marks by which what tunneld made is told from what others made.
package enum Ownership {
    /// Stands on each of our routes and rules; in nobody's list (/etc/iproute2/rt_protos, linux/rtnetlink.h).
    package static let routingProtocol: UInt8 = 140

    /// The bit that all outer packets carry, whatever tunnel they belong to.
    ///
    /// One for all: with a mark per tunnel, two full tunnels would send each other's packets in a circle.
    package static let outerMark: UInt32 = 0x0800_0000
    package static let outerMask: UInt32 = 0x0800_0000

    /// The bit that tells our questions after the way of outer packets from the packets themselves: what is kept in by a
    /// rule of ours must be found out all the same.
    static let questionMark: UInt32 = 0x0200_0000

    /// The bit that the block sets on what it lets be forwarded out of a tunnel, for its own rules on the next link.
    static let forwardedMark: UInt32 = 0x0400_0000

    /// The label of the tunnels' IPv6 addresses ("tun" and a number); in nobody's list (RFC 6724, section 2.1).
    static let addressLabel: UInt32 = 0x7475_6e00

    /// The users that providers run as, one per tunnel; nobody else has them.
    package static let providerUsers: ClosedRange<UInt32> = 2_000_000_000...2_000_065_535

    /// Where the sockets for `wg` are, each named after its interface (https://www.wireguard.com/xplatform/).
    package static let wgSocketFolder = "/var/run/wireguard"

    /// The routing tables that tunnels take theirs from ("tun" and a number).
    package static let tables: ClosedRange<UInt32> = 0x7475_6e00...0x7475_6eff

    /// The tables by which the outer packets of nested tunnels go, each as far from the first as the tunnel's own from its.
    package static let passageTables: ClosedRange<UInt32> = 0x7475_6f00...0x7475_6fff

    /// The table by which the outer packets go of the tunnel that has this one.
    static func passageTable(besides table: UInt32) -> UInt32 {
        passageTables.lowerBound + (table - tables.lowerBound)
    }

    /// The table of the tunnel's own that goes with one of either kind; nil for another's.
    static func ownTable(besides table: UInt32) -> UInt32? {
        if tables.contains(table) { return table }
        return passageTables.contains(table) ? tables.lowerBound + (table - passageTables.lowerBound) : nil
    }

    /// Where the rules stand that keep outer packets in, ahead of all others.
    package static let confinementPriority: UInt32 = 1_900

    /// Where the rules stand that let packets pass all tunnels, ahead of every tunnel's own.
    package static let exemptionPriority: UInt32 = 9_900

    /// The priorities that tunnels take their rules from; each has `priorityBlock` of them, the later tunnel the lower.
    package static let priorities: ClosedRange<UInt32> = 10_000...29_999
    package static let priorityBlock: UInt32 = 8

    /// The priorities, ahead of every tunnel's, of what a tunnel leaves to others: `exceptionBlock` for each block of
    /// `priorities`, in the same order.
    package static let exceptions: ClosedRange<UInt32> = 2_000...9_499
    package static let exceptionBlock: UInt32 = 3

    /// The number of the block that a rule's priority is in; nil for one that no tunnel takes for itself.
    static func block(ofPriority priority: UInt32) -> UInt32? {
        if priorities.contains(priority) { return (priority - priorities.lowerBound) / priorityBlock }
        if exceptions.contains(priority) { return (priority - exceptions.lowerBound) / exceptionBlock }
        return nil
    }

    /// The first priority of what the tunnel leaves to others whose rules begin at `priority`.
    static func firstException(ofRulesAt priority: UInt32) -> UInt32 {
        exceptions.lowerBound + (priority - priorities.lowerBound) / priorityBlock * exceptionBlock
    }
}
