import NetworkTypes

/// The changes that lead from what is there to what is wanted, in an order in which nothing leaks and nothing gaps.
struct NetworkDifference: Sendable {
    let interface: InterfaceIdentity
    /// Each step is sent at once; the next begins when all of it worked.
    let steps: [[NetworkChange]]
    /// Whether the link was never up.
    let isFirstUse: Bool
    /// Whether the first IPv4 address of a network goes while another of the same network stays or comes.
    ///
    /// The kernel counts the later ones as secondary, and removes them with the first unless it is told to promote one
    /// (Documentation/networking/ip-sysctl.rst, promote_secondaries). It lists the first one first.
    let needsPromotion: Bool

    var isEmpty: Bool { steps.allSatisfy(\.isEmpty) }

    init(from state: NetworkState, to plan: NetworkPlan, mtu: Int, interface: InterfaceIdentity) {
        self.interface = interface
        let index = interface.index
        let name = interface.name
        isFirstUse = !state.link.isUp
        var size: [NetworkChange] = []
        if state.link.mtu != mtu {
            size = [
                NetworkChange(
                    what: "set the MTU of \(name) to \(mtu)",
                    request: Link.setMTU(mtu, index: index),
                    undo: Link.setMTU(state.link.mtu, index: index)
                )
            ]
        }
        var up: [NetworkChange] = []
        if !state.link.isUp {
            up = [
                NetworkChange(
                    what: "switch \(name) on",
                    request: Link.setUp(index: index),
                    undo: Link.setDown(index: index)
                )
            ]
        }
        let addresses = Changes(state.addresses, plan.addresses, samePlace: { $0.prefix })
        let routes = Changes(state.routes, plan.routes, samePlace: { $0 })
        let rules = Changes(state.rules, plan.rules, samePlace: { $0 })
        // What somebody else put on the link is not ours to remove.
        let removed = addresses.removed.filter { state.journalledAddresses.contains($0.prefix) }
        needsPromotion = removed.contains { old in
            let network = old.prefix.network
            return !network.address.isIPv6 && state.addresses.first { $0.prefix.network == network } == old
                && plan.addresses.contains { $0.prefix.network == network }
        }
        // Below 1280 the kernel throws IPv6 off the link: only when all else is done.
        let shrinksLast = mtu < TunnelMTU.minimumForIPv6
        steps = [
            shrinksLast ? [] : size,
            addresses.added.map { $0.adding(to: name) },
            up,
            routes.added.map { $0.adding(to: name) },
            rules.added.map { $0.adding(for: name) },
            rules.removed.map { $0.removing(for: name) },
            routes.removed.map { $0.removing(from: name) },
            removed.map { $0.removing(from: name) },
            shrinksLast ? size : [],
        ]
    }
}

/// What is missing of the wanted, and what is there beyond it.
private struct Changes<Object: Hashable> {
    let added: [Object]
    let removed: [Object]

    init<Place: Hashable>(_ present: [Object], _ wanted: [Object], samePlace: (Object) -> Place) {
        let have = Set(present.map(samePlace))
        let want = Set(wanted.map(samePlace))
        added = wanted.filter { !have.contains(samePlace($0)) }
        removed = present.filter { !want.contains(samePlace($0)) }
    }
}

extension InterfaceAddress {
    fileprivate func adding(to name: String) -> NetworkChange {
        NetworkChange(what: "add the address \(prefix) to \(name)", request: add, undo: delete)
    }

    fileprivate func removing(from name: String) -> NetworkChange {
        NetworkChange(what: "remove the address \(prefix) from \(name)", request: delete, undo: add, isRemoval: true)
    }
}

extension Route {
    fileprivate func adding(to name: String) -> NetworkChange {
        NetworkChange(what: "add the route \(destination) to \(name)", request: add, undo: delete, route: self)
    }

    fileprivate func removing(from name: String) -> NetworkChange {
        NetworkChange(
            what: "remove the route \(destination) from \(name)",
            request: delete,
            undo: add,
            isRemoval: true
        )
    }
}

extension RoutingRule {
    fileprivate func adding(for name: String) -> NetworkChange {
        NetworkChange(what: "add the routing rule \(priority) for \(name)", request: add, undo: delete)
    }

    fileprivate func removing(for name: String) -> NetworkChange {
        NetworkChange(
            what: "remove the routing rule \(priority) for \(name)",
            request: delete,
            undo: add,
            isRemoval: true
        )
    }
}
