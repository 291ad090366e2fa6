package import ControlAPI
import Glibc
package import HostNetwork
import NetworkTypes

/// What `doctor` finds by itself, also without tunneld.
package enum LocalChecks {
    /// - Parameter endpoints: of running tunnels' peers; none: the default route is looked at.
    static func findings(tunneldIsRunning: Bool, endpoints: [String]) async -> [Finding] {
        // Another user's missing capability says nothing of tunneld's.
        let mayAsk = !tunneldIsRunning && geteuid() == 0
        let facts = MachineFacts.findings(hasNetworkCapability: mayAsk ? nil : true)
        return machine(facts, capabilityIsKnown: mayAsk) + (await paths(endpoints))
    }

    /// One finding a check: what is wrong, or that nothing is.
    package static func machine(_ facts: [MachineFacts.Finding], capabilityIsKnown: Bool) -> [Finding] {
        let found = facts.map { fact in
            Finding(
                check: check(of: fact.code),
                level: fact.isFatal ? .problem : .warning,
                message: [fact.what, fact.why].compactMap(\.self).joined(separator: " "),
                remedy: fact.remedy
            )
        }
        var fine = [("tun-device", "\(MachineFacts.tunNode) can be opened.")]
        if capabilityIsKnown { fine.append(("capability", "CAP_NET_ADMIN is there.")) }
        fine += [("ipv6", "IPv6 is usable."), ("clock", "The clock is kept by a time service.")]
        return fine.flatMap { check, message in
            let wrong = found.filter { $0.check == check }
            return wrong.isEmpty ? [Finding(check: check, level: .ok, message: message)] : wrong
        }
    }

    private static func check(of code: MachineFacts.Finding.Code) -> String {
        switch code {
        case .tunMissing, .tunForbidden, .tunNoDriver, .tunBusy, .tunWrongNode, .tunFailed: "tun-device"
        case .noNetworkCapability: "capability"
        case .ipv6Disabled, .ipv6NotInKernel: "ipv6"
        case .clockBehind, .clockUnsynchronized: "clock"
        }
    }

    /// The ways that outer packets take; only looked up, nothing is sent.
    private static func paths(_ endpoints: [String]) async -> [Finding] {
        guard let network = try? HostNetwork() else { return [] }
        guard !endpoints.isEmpty else {
            guard let paths = try? await network.defaultPaths() else { return [] }
            return [wayOut(paths)]
        }
        var paths: [(endpoint: String, path: TunnelMTU.Path?)] = []
        for endpoint in endpoints.prefix(16).compactMap({ Endpoint($0) }) {
            paths.append((endpoint.description, try? await network.pathMTU(to: endpoint)))
        }
        return path(paths)
    }

    /// What a tunnel can carry where no running one has an endpoint yet.
    package static func wayOut(_ paths: [DefaultPath]) -> Finding {
        let note = "No running tunnel has an endpoint, so the default route was looked at"
        guard let narrowest = paths.min(by: { TunnelMTU.automatic([$0.path]) < TunnelMTU.automatic([$1.path]) }) else {
            return noWay("\(note): there is none.")
        }
        return finding(narrowest.path, "\(note): it goes by \(narrowest.interface), which carries")
    }

    package static func path(
        _ paths: [(endpoint: String, path: TunnelMTU.Path?)]
    ) -> [Finding] {
        let missing = paths.filter { $0.path == nil }
        guard missing.isEmpty else {
            return [noWay("No route leads to \(missing.map(\.endpoint).joined(separator: ", ")).")]
        }
        let known = paths.compactMap { pair in pair.path.map { (pair.endpoint, $0) } }
        guard let narrowest = known.min(by: { TunnelMTU.automatic([$0.1]) < TunnelMTU.automatic([$1.1]) }) else {
            return []
        }
        return [finding(narrowest.1, "The path to \(narrowest.0) carries")]
    }

    private static let pathCheck = "path-mtu"

    private static func noWay(_ message: String) -> Finding {
        Finding(
            check: pathCheck,
            level: .warning,
            message: message,
            remedy: "Connect this machine to a network; tunnels try again by themselves when it changes."
        )
    }

    private static func finding(_ path: TunnelMTU.Path, _ begin: String) -> Finding {
        let inside = TunnelMTU.automatic([path])
        let message = "\(begin) \(path.mtu) bytes, \(inside) in a tunnel."
        guard inside < 1280 else { return Finding(check: pathCheck, level: .ok, message: message) }
        return Finding(
            check: pathCheck,
            level: .warning,
            message: message,
            remedy: "IPv6 needs 1280 in the tunnel: raise the MTU of the link, or use IPv4 only inside."
        )
    }
}
