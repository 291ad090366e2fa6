import ControlAPI
import HostNetwork
import Journal
import NetworkTypes

/// The tunnel that this one is nested in: what becomes of it, and what is to be said of that.
extension Tunnel {
    /// Where the outer packets are to go now.
    func outerPassage() async -> OuterPassage {
        guard let outer = live?.policy.nestedIn else { return .outside }
        guard let owner = live?.record.configuration.owner,
            let configuration = await services.store.outer(outer, for: owner),
            let running = services.running.tunnel(configuration.identifier), running.isReady,
            let interface = running.interface, await services.network.state(of: interface) == .up
        else { return .closed }
        return .through(interface)
    }

    /// Whether this tunnel, or one that it is nested in, is nested in another.
    func isNested(in identifier: String) async -> Bool {
        guard let policy = live?.policy, policy.nestedIn != nil else { return false }
        guard let configuration = live?.record.configuration else { return false }
        return await services.store.chain(of: configuration).contains { $0.identifier == identifier }
    }

    /// Something became of another tunnel: it is ready, has another MTU, or ended.
    package func otherTunnelChanged(_ identifier: String) async {
        guard keepsNetwork else { return }
        if await isNested(in: identifier) { await pathChanged() }
        await keepOthersOut()
    }

    /// Keeps the outer packets of other tunnels out of this one's routes, where it would catch them.
    private func keepOthersOut() async {
        let others = services.running.endpoints(besides: self.identifier)
        guard keepsNetwork, let live, let routes = live.record.applied?.routes else { return }
        let news = others.symmetricDifference(live.outside.othersEndpoints).compactMap { Endpoint(text: $0)?.address }
        let prefixes = routes.compactMap { IPPrefix($0) }.filter { $0.length > 0 }
        guard news.contains(where: { address in prefixes.contains { $0.contains(address) } }) else { return }
        do {
            try await putInForce(nil)
        } catch {
            log.warning("What other tunnels send can't be kept out of this one, going on: \(error)")
        }
    }

    /// What stands in the way to the peers, and what to do.
    func sentence(_ obstacle: OuterPath.Obstacle) async -> String {
        switch obstacle {
        case .noSource(let link):
            return
                "This machine has no address to send from to the peers: \(link) has none that leads further than the link, "
                + "and no other link has one but the tunnels. Give \(link) an address, or its route one to send from "
                + "(ip route change … src ADDRESS)."
        case .intoTunnel(let interface):
            return
                "The way to the peers leads into a tunnel, by a rule or a route from outside: to \(interface). Remove it; "
                + "`ip rule` and `ip route get ADDRESS mark 0x8000000` show it."
        case .waitsForOuter:
            let name = await outerName() ?? live?.policy.nestedIn ?? ""
            return
                "It waits for the tunnel \(name), in which it is nested and which isn't up. "
                + "`\(TunnelctlCommand.text("up", name))` starts that."
        }
    }

    /// The name of the tunnel that this one is nested in; nil for none.
    func outerName() async -> String? {
        guard let outer = live?.policy.nestedIn, let owner = live?.record.configuration.owner else { return nil }
        return await services.store.outer(outer, for: owner)?.name
    }
}
