/// Finds the owner of the longest prefix that holds an address, for both families.
///
/// Immutable and flat: the prefixes cut the address space into ranges without overlap, and a look-up is one binary search
/// over their starts, without an allocation. 64 peers with two prefixes each are eight steps.
package struct AllowedIPsTable<Owner: Hashable & Sendable>: Sendable {
    private let v4: RangeTable<UInt32>
    private let v6: RangeTable<UInt128>
    private let owners: [Owner]

    /// A table that nobody owns anything in.
    package init() { self.init([:]) }

    init(_ assignments: [IPPrefix: Owner]) {
        var owners: [Owner] = []
        var slots: [Owner: Int32] = [:]
        var v4: [RangeTable<UInt32>.Entry] = []
        var v6: [RangeTable<UInt128>.Entry] = []
        for (prefix, owner) in assignments {
            let slot = slots[owner, default: Int32(owners.count)]
            if slots.updateValue(slot, forKey: owner) == nil { owners.append(owner) }
            switch prefix.network.address {
            case .v4(let address): v4.append(.init(first: address.value, length: prefix.length, slot: slot))
            case .v6(let address): v6.append(.init(first: address.bits, length: prefix.length, slot: slot))
            }
        }
        self.v4 = RangeTable(v4)
        self.v6 = RangeTable(v6)
        self.owners = owners
    }

    /// The owner of an IPv4 address; nil where no prefix holds it.
    package func owner(of address: IPv4Address) -> Owner? { owner(in: v4.slot(of: address.value)) }

    /// The owner of an IPv6 address; nil where no prefix holds it.
    package func owner(of address: IPv6Address) -> Owner? { owner(in: v6.slot(of: address.bits)) }

    /// The owner of an address of either family; nil where no prefix holds it.
    package func owner(of address: IPAddress) -> Owner? {
        switch address {
        case .v4(let address): owner(of: address)
        case .v6(let address): owner(of: address)
        }
    }

    private func owner(in slot: Int32) -> Owner? { slot < 0 ? nil : owners[Int(slot)] }
}

extension IPv6Address {
    /// The address as one number.
    fileprivate var bits: UInt128 { UInt128(high) << 64 | UInt128(low) }
}

/// Ranges of numbers, each from its start to the next one's, with the slot of their owner or -1.
private struct RangeTable<Bits: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    struct Entry {
        let first: Bits
        let length: Int
        let slot: Int32

        /// The last number that the prefix holds.
        var last: Bits { length == 0 ? .max : first | (Bits.max >> Bits(truncatingIfNeeded: length)) }
    }

    /// The start of each range; the first is 0.
    private var starts: [Bits] = [0]
    private var slots: [Int32] = [-1]

    init(_ entries: [Entry]) {
        // In this order a prefix comes before all that lie in it, and those that hold a number nest like brackets.
        let sorted = entries.sorted { ($0.first, $0.length) < ($1.first, $1.length) }
        var open: [Entry] = []
        for entry in sorted {
            close(&open, before: entry.first)
            begin(at: entry.first, slot: entry.slot)
            open.append(entry)
        }
        close(&open, before: nil)
    }

    /// Ends the prefixes that end before a number, or all: each gives way to the one around it.
    private mutating func close(_ open: inout [Entry], before limit: Bits?) {
        while let inner = open.last, limit.map({ inner.last < $0 }) ?? true {
            open.removeLast()
            if inner.last < .max { begin(at: inner.last + 1, slot: open.last?.slot ?? -1) }
        }
    }

    private mutating func begin(at start: Bits, slot: Int32) {
        if starts.last == start {
            slots[slots.count - 1] = slot
        } else {
            starts.append(start)
            slots.append(slot)
        }
    }

    func slot(of number: Bits) -> Int32 {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= number { low = middle } else { high = middle }
        }
        return slots[low]
    }
}
