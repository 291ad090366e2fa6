import NetworkTypes

/// The changes of one family's addresses that lead to what a new interface would have.
///
/// The order counts too: of several that fit, the kernel sends from the one that it lists first.
struct AddressDifference: Sendable {
    /// What can be added while all that goes is still there.
    private(set) var early: [InterfaceAddress] = []
    private(set) var removed: [InterfaceAddress] = []
    /// What can only be added, or only has its place, when `removed` is gone.
    private(set) var late: [InterfaceAddress] = []
    /// What stays as it is.
    private(set) var kept: [InterfaceAddress] = []

    /// So many are kept as far as that can be.
    private static let fewAddresses = 32

    /// - Parameters:
    ///   - present: in the order in which the kernel lists them.
    ///   - ours: the addresses that we put there.
    init(from present: [InterfaceAddress], to wanted: [InterfaceAddress], ours: Set<IPPrefix>, isIPv6: Bool) {
        let present = present.filter { $0.prefix.address.isIPv6 == isIPv6 }
        let wanted = wanted.filter { $0.prefix.address.isIPv6 == isIPv6 }
        let fresh = AddressList(isIPv6: isIPv6).adding(wanted)
        let list = AddressList(isIPv6: isIPv6).adding(isIPv6 ? present.reversed() : present)
        let wantedPrefixes = Set(wanted.map(\.prefix))
        // What somebody else put on the link is not ours to remove.
        let own = present.filter { ours.contains($0.prefix) || wantedPrefixes.contains($0.prefix) }
        let wantedSet = Set(wanted)
        var staying = own.filter(wantedSet.contains)
        // What stays where it is comes first; where that leads to another order, less and less of it stays.
        while true {
            for isFirstAdded in [true, false] {
                choose(staying, of: own, wanted, isFirstAdded)
                let result = list.adding(early).removing(removed).adding(late)
                if result.addresses.filter(wantedSet.contains) == fresh.addresses { return }
            }
            if staying.isEmpty { return }
            // The last that came: IPv6 lists the newest first. Of very many, half of them: each try looks at all.
            let count = staying.count > Self.fewAddresses ? staying.count / 2 : 1
            if isIPv6 { staying.removeFirst(count) } else { staying.removeLast(count) }
        }
    }

    private mutating func choose(
        _ staying: [InterfaceAddress],
        of own: [InterfaceAddress],
        _ wanted: [InterfaceAddress],
        _ isFirstAdded: Bool
    ) {
        kept = staying
        removed = own.filter { !staying.contains($0) }
        let gone = Set(removed.map(\.prefix))
        let added = wanted.filter { !staying.contains($0) }
        early = isFirstAdded ? Array(added.prefix { !gone.contains($0.prefix) }) : []
        late = Array(added.dropFirst(early.count))
    }
}

/// A link's addresses of one family in the order in which the kernel lists them.
///
/// IPv4 (`__inet_insert_ifa`, `__inet_del_ifa`) has the first of each network before all those that came to a network
/// later, and moves one of these up when the first goes; IPv6 (`ipv6_link_dev_addr`) has the newest first.
private struct AddressList {
    let isIPv6: Bool
    private var primary: [InterfaceAddress] = []
    private var secondary: [InterfaceAddress] = []

    var addresses: [InterfaceAddress] { primary + secondary }

    init(isIPv6: Bool) { self.isIPv6 = isIPv6 }

    func adding(_ new: [InterfaceAddress]) -> AddressList {
        var list = self
        for address in new {
            if isIPv6 {
                list.primary.insert(address, at: 0)
            } else if list.primary.contains(where: { $0.prefix.network == address.prefix.network }) {
                list.secondary.append(address)
            } else {
                list.primary.append(address)
            }
        }
        return list
    }

    func removing(_ old: [InterfaceAddress]) -> AddressList {
        var list = self
        for address in old {
            list.secondary.removeAll { $0 == address }
            guard let place = list.primary.firstIndex(of: address) else { continue }
            list.primary.remove(at: place)
            let next = list.secondary.firstIndex { $0.prefix.network == address.prefix.network }
            if let next { list.primary.append(list.secondary.remove(at: next)) }
        }
        return list
    }
}
