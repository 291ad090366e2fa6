import NetworkTypes

/// The changes that lead from what is there to what is wanted, in an order in which nothing leaks and nothing gaps.
///
/// With one exception: where the last IPv4 address is exchanged, the kernel takes all IPv4 routes of the link with it, and a
/// split tunnel, whose routes have no unreachable one behind them, is without them for that moment.
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
    /// Whether the first step gives the link IPv6 again, with an address that the kernel makes up.
    let bringsIPv6: Bool

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
        let ours = state.journalledAddresses
        let v4 = AddressDifference(from: state.addresses, to: plan.addresses, ours: ours, isIPv6: false)
        let v6 = AddressDifference(from: state.addresses, to: plan.addresses, ours: ours, isIPv6: true)
        let routes = Changes(state.routes, plan.routes)
        let rules = Changes(state.rules, plan.rules)
        let labels = Changes(state.labels ?? [], plan.labels)
        needsPromotion = v4.removed.contains { old in
            let network = old.prefix.network
            return state.addresses.first { $0.prefix.network == network } == old
                && (v4.kept + v4.early).contains { $0.prefix.network == network }
        }
        // With the last IPv4 address of a link the kernel throws away all its IPv4 routes (fib_disable_ip).
        let present = state.addresses.filter { !$0.prefix.address.isIPv6 }
        let isEmptied = v4.early.isEmpty && !present.isEmpty && present.allSatisfy(v4.removed.contains)
        let thrown = { (route: Route) in
            isEmptied && route.interface == index && !route.destination.address.isIPv6
        }
        // The kernel's own route to an address's network must go before ours can take its place.
        let freed = Set(v4.removed.map(\.prefix.network))
        let waits = { (route: Route) in
            thrown(route) || route.table == Route.mainTable && freed.contains(route.destination)
        }
        let deferred = plan.routes.filter { thrown($0) || waits($0) && routes.added.contains($0) }
        let exchange = [
            (v4.removed + v6.removed).map { $0.removing(from: name) },
            (v4.late + v6.late).map { $0.adding(to: name) },
            deferred.map { $0.adding(to: name) },
        ]
        // Below 1280 the kernel throws IPv6 off the link: only when all else is done.
        let shrinksLast = mtu < TunnelMTU.minimumForIPv6
        bringsIPv6 = !isFirstUse && !shrinksLast && state.link.mtu < TunnelMTU.minimumForIPv6
        steps =
            [
                shrinksLast ? [] : size,
                // Before the addresses, so that no outer packet takes one of them meanwhile.
                labels.added.map { $0.adding(to: name) },
                (v4.early + v6.early).map { $0.adding(to: name) },
                up,
                routes.added.filter { !waits($0) }.map { $0.adding(to: name) },
                rules.added.map { $0.adding(for: name) },
                state.routes.filter(thrown).map { $0.removing(from: name) },
            ] + (isEmptied ? exchange : []) + [
                rules.removed.map { $0.removing(for: name) },
                routes.removed.filter { !thrown($0) }.map { $0.removing(from: name) },
            ] + (isEmptied ? [] : exchange) + [
                labels.removed.map { $0.removing(from: name) },
                shrinksLast ? size : [],
            ]
    }
}

/// What is missing of the wanted, and what is there beyond it.
private struct Changes<Object: Hashable> {
    let added: [Object]
    let removed: [Object]

    init(_ present: [Object], _ wanted: [Object]) {
        let have = Set(present)
        let want = Set(wanted)
        added = wanted.filter { !have.contains($0) }
        removed = present.filter { !want.contains($0) }
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

extension AddressLabel {
    fileprivate func adding(to name: String) -> NetworkChange {
        NetworkChange(what: "add the label of \(address) to \(name)", request: add, undo: delete, label: self)
    }

    fileprivate func removing(from name: String) -> NetworkChange {
        NetworkChange(
            what: "remove the label of \(address) from \(name)",
            request: delete,
            undo: add,
            isRemoval: true
        )
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
