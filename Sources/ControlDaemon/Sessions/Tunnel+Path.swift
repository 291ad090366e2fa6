import ControlAPI
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
        let path = await services.network.path(to: live.calledEndpoints)
        guard isReady, self.live?.session == session else { return }
        let before = self.live?.path
        if let path { self.live?.path = path }
        // Without a way there is nothing to take over; the provider has its own clock for what it tries.
        let isLost = path?.isAvailable == false
        if let path, path.obstacle != before?.obstacle { await followObstacle(path, session) }
        if look == .telling || isLost != (before?.isAvailable == false) {
            _ = try? await ask(
                "PathChanged",
                ProviderCalls.PathChangedParameters(
                    available: path?.isAvailable,
                    moved: path.map { $0.isAnotherWay(than: before) },
                    network: path?.network,
                    obstacle: isLost ? path?.obstacle?.sentence : nil
                ),
                timeout: Self.statusPatience,
                over: connection
            )
        }
        if !isLost { await followMTU(path, before, session) }
    }

    /// Keeps outer packets in that have no address to come from, and lets them out again, before the provider is told.
    private func followObstacle(_ path: OuterPath, _ session: String) async {
        guard let live, live.session == session, live.record.applied != nil else { return }
        if let obstacle = path.obstacle { log.warning("\(live.record.configuration.name): \(obstacle.sentence)") }
        do {
            try await putInForce(nil)
        } catch {
            log.warning("The settings can't follow the path to the peers, going on with those that are: \(error)")
        }
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

extension OuterPath.Obstacle {
    /// What stands in the way, and what to do.
    var sentence: String {
        switch self {
        case .noSource(let link):
            "This machine has no address to send from to the peers: \(link) has none that leads further than the link, and no "
                + "other link has one but the tunnels. Give \(link) an address, or its route one to send from "
                + "(ip route change … src ADDRESS)."
        case .intoTunnel(let interface):
            "The way to the peers leads into a tunnel, by a rule or a route from outside: to \(interface). Remove it; "
                + "`ip rule` and `ip route get ADDRESS mark 0x8000000` show it."
        }
    }
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
