import ControlAPI
import EventLoop
import HostNetwork
import Journal
import LinuxSystem
import NetworkTypes

/// The way of the tunnel's outer packets: what changes with it.
extension Tunnel {
    /// The network changed: the provider is told what that means for its peers, and what depends on the path follows it.
    package func pathChanged() async {
        await followSurroundings()
        await look(.telling)
    }

    /// A peer is called at another address now, or a packet was too big for the path.
    func endpointsChanged() async { await look(.quietly) }

    /// Why the path is looked at.
    enum PathLook: Int {
        /// Only what tunneld itself puts in force may be another.
        case quietly
        /// The provider waits for it.
        case telling
    }

    /// Looks at the path, one look at a time and each at what is so by then: what is told last must be what is so.
    private func look(_ wanted: PathLook) async {
        pathWanted = max(pathWanted ?? .quietly, wanted)
        guard !isLookingAtPath else { return }
        isLookingAtPath = true
        while let look = pathWanted {
            pathWanted = nil
            await followPath(look)
        }
        isLookingAtPath = false
    }

    private func followPath(_ look: PathLook) async {
        guard isReady, let live, let connection = live.connection else { return }
        let session = live.session
        let passage = await outerPassage()
        if passage != self.live?.outside.passage { await followWay(session) }
        let before = live.path
        var path = await way(by: passage)
        if let found = path, found.obstacle != before?.obstacle {
            // What stands in the way may be a route of ours, to an endpoint that has just become known.
            await followWay(session)
            path = await way(by: passage)
            if let obstacle = path?.obstacle {
                let sentence = await sentence(obstacle)
                log.warning("\(live.record.configuration.name): \(sentence)")
            }
        }
        guard isReady, let limits = self.live?.pathLimits, self.live?.session == session else { return }
        path = path?.limited(to: limits)
        lookAgain(after: path?.expiry)
        if let path { self.live?.path = path }
        // Without a way there is nothing to take over; the provider has its own clock for what it tries.
        let isLost = path?.isAvailable == false
        var obstacle: String?
        if isLost, let found = path?.obstacle { obstacle = await sentence(found) }
        if look == .telling || isLost != (before?.isAvailable == false) {
            _ = try? await ask(
                "PathChanged",
                ProviderCalls.PathChangedParameters(
                    available: path?.isAvailable,
                    moved: path.map { $0.isAnotherWay(than: before) },
                    network: path?.network,
                    obstacle: obstacle
                ),
                timeout: Self.statusPatience,
                over: connection
            )
        }
        if !isLost { await followMTU(path, before, session) }
    }

    private func way(by passage: OuterPassage) async -> OuterPath? {
        await services.network.path(to: live?.calledEndpoints ?? [], by: passage, from: live?.record.listenPort)
    }

    /// Leads the outer packets another way, keeps those in that have no address to come from, and lets them out again, before
    /// the provider is told.
    func followWay(_ session: String) async {
        guard live?.session == session, live?.record.applied != nil else { return }
        do {
            try await putInForce(nil)
        } catch {
            log.warning("The settings can't follow the path to the peers, going on with those that are: \(error)")
        }
    }

    /// What a router said ("too big") the kernel forgets after a while (net.ipv4.route.mtu_expires), and tells nobody.
    private func lookAgain(after expiry: Interval?) {
        live?.pathRecheck?.cancel()
        live?.pathRecheck = expiry.map { expiry in
            Task { [weak self] in
                guard (try? await Pause.sleep(for: expiry + .seconds(1))) != nil else { return }
                await self?.lookAgainNow()
            }
        }
    }

    /// What comes of the look must not end the task that it is in.
    private func lookAgainNow() async {
        live?.pathRecheck = nil
        await look(.quietly)
    }

    /// Puts the settings in force once more where the path carries another size now, or leads to other endpoints: those
    /// must not be caught by the tunnel's own routes.
    private func followMTU(_ path: OuterPath?, _ before: OuterPath?, _ session: String) async {
        guard let path, isReady, let live, live.session == session, let connection = live.connection,
            let old = live.record.applied, let settings = live.record.settings
        else { return }
        let wanted = settings.mtu != nil || path.mtus.isEmpty ? old.mtu : TunnelMTU.automatic(path.mtus)
        let known = Set(settings.endpoints.compactMap { Endpoint(text: $0) }).union(before?.endpoints ?? [])
        guard wanted != old.mtu || !path.endpoints.isSubset(of: known) else { return }
        do {
            let mtu = try await putInForce(nil)
            guard mtu != old.mtu else { return }
            log.notice("\(live.record.configuration.name): the MTU is \(mtu) now, as the path to the peers wants it.")
            let parameters = ProviderCalls.SettingsAppliedParameters(mtu: mtu)
            _ = try await ask("SettingsApplied", parameters, timeout: ProviderConnection.patience, over: connection)
        } catch {
            log.warning("The settings can't follow the path to the peers, going on with those that are: \(error)")
        }
    }
}

extension Tunnel.PathLook: Comparable {
    static func < (a: Tunnel.PathLook, b: Tunnel.PathLook) -> Bool { a.rawValue < b.rawValue }
}

extension OuterPath {
    var endpoints: Set<Endpoint> { Set(ways.map(\.endpoint)) }

    /// Whether packets to some endpoint take another way, or there is a way again.
    ///
    /// - Parameter before: nil: nobody knows.
    func isAnotherWay(than before: OuterPath?) -> Bool {
        guard let before else { return true }
        guard before.isAvailable == isAvailable else { return isAvailable }
        let old = Dictionary(before.ways.map { ($0.endpoint, $0) }, uniquingKeysWith: { a, _ in a })
        // An endpoint that is new is called in any case.
        return ways.contains { way in old[way.endpoint].map { $0 != way } ?? false }
            || (ways.isEmpty && before.network != network)
    }
}
