import Glibc
import LinuxSystem
package import Netlink
import NetworkTypes

/// Brings the kernel from what is there to what a tunnel wants, and back.
///
/// Needs CAP_NET_ADMIN, and works in the network namespace of its socket. Calls must not overlap: tables and priorities
/// are chosen by what is free.
package struct NetworkApplier: Sendable {
    let tables: KernelTables
    let controls: any SystemControls
    /// All tunnels', which are no part of what the machine is attached to.
    let ownInterfaces: OwnInterfaces

    package init(
        socket: any NetlinkSocket,
        controls: any SystemControls = ProcSystemControls(),
        ownInterfaces: OwnInterfaces = OwnInterfaces()
    ) {
        self.ownInterfaces = ownInterfaces
        tables = KernelTables(socket: socket)
        self.controls = controls
    }

    /// Applies the difference between the settings and what is there; a second call with the same settings does nothing.
    ///
    /// The journal is handed to `record` before the first change, as it must be read should the process die in between,
    /// and after the last one. On failure all is as it was before, the journal too.
    /// - Parameter restoring: puts back what others took away of settings that are in force, as much of it as can be: a
    ///   failure undoes nothing.
    /// - Throws: which step failed and why; for a route that is taken, whose it is.
    package func apply(
        _ settings: TunnelNetworkSettings,
        restoring: Bool = false,
        journal: inout NetworkJournal,
        record: (NetworkJournal) throws -> Void
    ) throws(NetworkSettingsError) -> AppliedNetworkSettings {
        let state: NetworkState
        do throws(NetlinkError) {
            state = try NetworkState(settings.interface, journal, tables)
        } catch {
            throw NetworkSettingsError("Cannot read the state of \(settings.interface.name).", error)
        }
        var notes: [NetworkNote] = []
        let plan = try plan(settings, state, journal, &notes)
        let difference = NetworkDifference(
            from: state,
            to: plan.objects,
            mtu: plan.mtu,
            interface: settings.interface
        )
        if !difference.isEmpty || journal != journal.replacing(with: plan.objects, on: settings.interface) {
            try carryOut(difference, plan.objects, restoring: restoring, &journal, record)
        }
        let networks = plan.objects.addresses.map(\.prefix.network)
        return AppliedNetworkSettings(
            addresses: plan.objects.addresses.map(\.prefix),
            routes: plan.objects.prefixes + plan.objects.covered,
            mtu: plan.mtu,
            table: plan.objects.routes.first { Ownership.tables.contains($0.table) }?.table,
            hasIPv4Default: plan.objects.prefixes.contains(.allIPv4),
            hasIPv6Default: plan.objects.prefixes.contains(.allIPv6),
            notes: notes + plan.objects.notes + state.overlaps(of: plan.objects.prefixes + networks, tables)
        )
    }

    private func plan(
        _ settings: TunnelNetworkSettings,
        _ state: NetworkState,
        _ journal: NetworkJournal,
        _ notes: inout [NetworkNote]
    ) throws(NetworkSettingsError) -> (objects: NetworkPlan, mtu: Int) {
        let (mtu, mtuNote) = try TunnelMTU.decide(explicit: settings.mtu, paths: paths(settings))
        if let mtuNote { notes.append(mtuNote) }
        let slot = try TunnelSlot(journal, state, tables, aheadOf: firstPriority(of: settings.passage, state))
        if slot.isBehindOthers {
            notes.append(
                NetworkNote(.notAheadOfOthers, "Other tunnels keep going first: no lower rule priority is free.")
            )
        }
        var facts = NetworkPlan.Facts(
            mtu: mtu,
            ipv6: ipv6State(settings),
            hasStrictReversePathFilter: controls.hasStrictReversePathFilter(besides: settings.interface.name),
            ownTable: slot.table,
            rulePriority: slot.priority,
            hasAddressLabels: state.labels != nil,
            unroutedNetworks: state.unroutedNetworks
        )
        ownInterfaces.insert(settings.interface.index)
        if case .through(let outer) = settings.passage { facts.isIPv6Outside = try hasIPv6(outer) }
        facts.withoutSource = try endpointsWithoutSource(settings)
        if settings.policy.followsSurroundings { try addSurroundings(settings, &facts) }
        return (try NetworkPlan(settings, facts), mtu)
    }

    private func addSurroundings(
        _ settings: TunnelNetworkSettings,
        _ facts: inout NetworkPlan.Facts
    ) throws(NetworkSettingsError) {
        do throws(NetlinkError) {
            let attached = try tables.attachedNetworks(besides: ownInterfaces)
            facts.attached = LocalNetworks.merged(attached.flatMap(\.prefixes))
            facts.local = LocalNetworks(of: attached).prefixes
        } catch {
            throw NetworkSettingsError("Cannot read what networks the machine is attached to.", error)
        }
    }

    private func endpointsWithoutSource(
        _ settings: TunnelNetworkSettings
    ) throws(NetworkSettingsError) -> [IPAddress] {
        // Inside of another tunnel that one's address is the right one.
        guard !settings.endpoints.isEmpty, settings.table == .automatic, settings.passage.isOutside else { return [] }
        do throws(NetlinkError) {
            let own = try tables.tunnelAddresses(ownInterfaces, coming: settings.addresses.map(\.address))
            var found: [IPAddress] = []
            for endpoint in settings.endpoints {
                // What leads into a tunnel now does so by routes that are to be others, or by somebody else's doing.
                guard let way = try tables.lookUp(endpoint.address, zone: endpoint.zone),
                    !ownInterfaces.contains(way.interface)
                else { continue }
                if !OuterSource.isUsable(way.source, to: endpoint.address, own: own) { found.append(endpoint.address) }
            }
            return found
        } catch {
            throw NetworkSettingsError("Cannot look up the address that packets to the endpoint come from.", error)
        }
    }

    private func paths(_ settings: TunnelNetworkSettings) throws(NetworkSettingsError) -> [TunnelMTU.Path] {
        guard settings.mtu == nil, settings.passage != .closed else { return [] }
        do throws(NetlinkError) {
            if let outer = settings.passage.interface {
                guard let mtu = try tables.link(index: outer)?.mtu else { return [] }
                return settings.endpoints.map { endpoint in
                    TunnelMTU.Path(mtu: mtu, isIPv6: endpoint.address.isIPv6)
                        .limited(to: settings.pathLimits[endpoint.address])
                }
            }
            let found = try settings.endpoints.map { (endpoint) throws(NetlinkError) in
                try tables.pathMTU(to: endpoint)?.limited(to: settings.pathLimits[endpoint.address])
            }
            return found.compactMap { $0 }
        } catch {
            throw NetworkSettingsError("Cannot look up the path to the endpoint.", error)
        }
    }

    /// Switches IPv6 on where only this link has it off: new links do by net.ipv6.conf.default.disable_ipv6.
    private func ipv6State(_ settings: TunnelNetworkSettings) -> IPv6State {
        let state = controls.ipv6State(of: settings.interface.name)
        guard state == .disabledOnLink, (settings.addresses + settings.routes).contains(where: \.address.isIPv6) else {
            return state
        }
        do throws(SystemError) {
            try controls.write("0", to: "net/ipv6/conf/\(settings.interface.name)/disable_ipv6")
            return .usable
        } catch {
            return state
        }
    }

    private func carryOut(
        _ difference: NetworkDifference,
        _ objects: NetworkPlan,
        restoring: Bool,
        _ journal: inout NetworkJournal,
        _ record: (NetworkJournal) throws -> Void
    ) throws(NetworkSettingsError) {
        let before = journal
        do {
            try record(before.adding(objects, on: difference.interface))
        } catch {
            throw NetworkSettingsError(
                .journalNotWritten,
                "Cannot change the network settings.",
                why: "The journal of changes can't be written: \(error)",
                remedy: (error as? SystemError)?.fileRemedy("tunneld's runtime directory") ?? "See the reason."
            )
        }
        if difference.isFirstUse {
            // A kernel without IPv6, or a link too small for it, has no such setting and makes up no address.
            _ = try? tables.socket.request(Link.withoutLinkLocalAddress(index: difference.interface.index))
        }
        if difference.needsPromotion { try promoteSecondaries(difference.interface.name) }
        var transaction = NetworkTransaction(socket: tables.socket)
        var failure: NetworkChangeFailure?
        for (number, step) in difference.steps.enumerated() {
            do throws(NetworkChangeFailure) {
                try transaction.perform(step)
            } catch {
                failure = failure ?? error
            }
            if failure != nil, !restoring { break }
            if number == 0, difference.bringsIPv6 { removeLinkLocalAddresses(difference.interface) }
        }
        if let failure, !restoring {
            let left = transaction.rollBack()
            // What couldn't be undone stays in the journal, to be taken back later.
            if left.isEmpty { try? record(before) } else { journal = before.adding(objects, on: difference.interface) }
            throw explain(failure, left)
        }
        journal = before.replacing(with: objects, on: difference.interface)
        journal.labels.removeAll(where: transaction.refusedLabels.contains)
        // If this fails, the file names things that are gone, and taking those back does nothing.
        try? record(journal)
        if let failure { throw explain(failure, []) }
    }

    /// Takes away what the kernel made up when the link had IPv6 again; nobody else can have one there yet.
    private func removeLinkLocalAddresses(_ interface: InterfaceIdentity) {
        _ = try? tables.socket.request(Link.withoutLinkLocalAddress(index: interface.index))
        let present = (try? tables.addresses(of: interface.index)) ?? []
        for address in present {
            if case .v6(let v6) = address.prefix.address, v6.isLinkLocal { try? tables.send(address.delete) }
        }
    }

    private func promoteSecondaries(_ name: String) throws(NetworkSettingsError) {
        do throws(SystemError) {
            try controls.write("1", to: "net/ipv4/conf/\(name)/promote_secondaries")
        } catch {
            throw NetworkSettingsError(
                .refused,
                "Cannot exchange an address of \(name) for another of the same network.",
                why: error.description,
                remedy: "Stop the tunnel and start it again, or make /proc/sys writable."
            )
        }
    }

    private func explain(_ failure: NetworkChangeFailure, _ left: [NetlinkError]) -> NetworkSettingsError {
        let what = "Cannot \(failure.change.what)."
        let remains = left.first.map { " Undoing the rest failed too: \($0)." } ?? ""
        if failure.reason.code == EEXIST, let route = failure.change.route, let other = otherOwner(of: route) {
            return NetworkSettingsError(
                .conflict,
                what,
                why: "There is such a route already: it belongs to \(other).\(remains)",
                remedy: "Remove that route or stop what made it, or leave the prefix out of the tunnel's routes."
            )
        }
        let error = NetworkSettingsError(what, failure.reason)
        return NetworkSettingsError(error.code, what, why: (error.why ?? "") + remains, remedy: error.remedy)
    }

    private func otherOwner(of route: Route) -> String? {
        let filter = KernelRoute.Filter(isIPv6: route.destination.address.isIPv6, table: route.table)
        guard let routes = try? tables.routes(filter) else { return nil }
        let same = routes.filter { $0.route.destination == route.destination && $0.route.interface != route.interface }
        guard let other = same.first(where: { $0.route.metric == route.metric }) ?? same.first else { return nil }
        let link = other.route.interface.flatMap { try? tables.link(index: $0)?.name }
        let place = link.map { "interface \($0)" } ?? "no interface"
        if other.isOurs { return "\(place), another tunnel of tunneld" }
        return "\(place), made by \(RouteOwner.name(other.owner))"
    }
}
