import Glibc
import LinuxSystem
import NetworkTypes
package import SystemBus

/// Finds out whom this machine asks for names: what systemd-resolved says of each link, or systemd-networkd's own notes
/// where nobody answers, and /etc/resolv.conf for what programs use.
package struct NameServerReader: Sendable {
    private let bus: SystemBus?
    private let resolvConf: String
    private let networkdLinks: String
    /// Who reads a snapshot waits for it.
    private static let patience = Interval.milliseconds(500)
    private static let largest = 1 << 20

    /// - Parameters:
    ///   - bus: nil: nobody is asked.
    ///   - resolvConf: where the file is.
    ///   - networkdLinks: the folder of systemd-networkd's files, one a link, by number.
    package init(
        bus: SystemBus?,
        resolvConf: String = "/etc/resolv.conf",
        networkdLinks: String = "/run/systemd/netif/links"
    ) {
        self.bus = bus
        self.resolvConf = resolvConf
        self.networkdLinks = networkdLinks
    }

    /// What programs use.
    func machine() -> NameServers {
        guard let bytes = try? FileSystem.contents(ofFile: resolvConf, limit: Self.largest) else {
            return NameServers()
        }
        return NameServers(ResolvConf(String(decoding: bytes, as: UTF8.self)))
    }

    /// Those of the links, by number.
    func links() async -> [UInt32: NameServers] {
        if let links = await resolved() { return links }
        guard BusPeer.sharesNetwork(withProcess: 1) else { return [:] }
        var links: [UInt32: NameServers] = [:]
        for name in (try? FileSystem.names(inFolder: networkdLinks)) ?? [] {
            guard let index = UInt32(name),
                let bytes = try? FileSystem.contents(ofFile: "\(networkdLinks)/\(name)", limit: Self.largest)
            else { continue }
            let found = NameServers(networkd: String(decoding: bytes, as: UTF8.self))
            if !found.isEmpty { links[index] = found }
        }
        return links
    }

    /// What systemd-resolved says; nil where it doesn't run here.
    private func resolved() async -> [UInt32: NameServers]? {
        guard let bus, await BusPeer.isHere(Resolved.name, bus, within: Self.patience) else { return nil }
        let answer = await bus.calls(within: Self.patience) { calls throws(BusError) in
            (servers: try Resolved.servers(calls), domains: try Resolved.domains(calls))
        }
        guard case .success(let known) = answer else { return nil }
        var links: [UInt32: NameServers] = [:]
        // 0 stands for what belongs to no link.
        for (link, server) in known.servers where link != 0 {
            links[link, default: NameServers()].servers.append(server.address)
        }
        for (link, domain) in known.domains where link != 0 {
            if domain.isRouteOnly {
                links[link, default: NameServers()].routeOnlyDomains.append(domain.name)
            } else {
                links[link, default: NameServers()].searchDomains.append(domain.name)
            }
        }
        return links
    }
}
