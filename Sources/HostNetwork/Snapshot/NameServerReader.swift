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
    /// Each call; who reads a snapshot waits for it.
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
        return NameServers(resolvConf: String(decoding: bytes, as: UTF8.self))
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

    // MARK: systemd-resolved

    private static let service = "org.freedesktop.resolve1"

    /// Nil where it doesn't run here.
    private func resolved() async -> [UInt32: NameServers]? {
        guard let bus, await BusPeer.isHere(Self.service, bus, within: Self.patience) else { return nil }
        let servers = await property("DNS", bus) { answer throws(BusError) in
            try answer.variant("a(iiay)") { value throws(BusError) in
                try value.array("(iiay)") { element throws(BusError) in
                    try element.whole("iiay") { parts throws(BusError) in
                        let index = try parts.int32()
                        _ = try parts.int32()
                        return (index, IPAddress(bytes: try parts.bytes()[...]))
                    }
                }
            }
        }
        let domains = await property("Domains", bus) { answer throws(BusError) in
            try answer.variant("a(isb)") { value throws(BusError) in
                try value.array("(isb)") { element throws(BusError) in
                    try element.whole("isb") { parts throws(BusError) in
                        (try parts.int32(), try parts.string(), try parts.boolean())
                    }
                }
            }
        }
        guard case .success(let servers) = servers, case .success(let domains) = domains else { return nil }
        var links: [UInt32: NameServers] = [:]
        // 0 stands for what belongs to no link.
        for (index, server) in servers where index > 0 {
            if let server { links[UInt32(index), default: NameServers()].servers.append(server) }
        }
        for (index, domain, isRouteOnly) in domains where index > 0 {
            if isRouteOnly {
                links[UInt32(index), default: NameServers()].routeOnlyDomains.append(domain)
            } else {
                links[UInt32(index), default: NameServers()].searchDomains.append(domain)
            }
        }
        return links
    }

    private func property<Value: Sendable>(
        _ name: String,
        _ bus: SystemBus,
        _ read: @escaping @Sendable (borrowing BusAnswer) throws(BusError) -> Value
    ) async -> Result<Value, BusError> {
        await bus.property(
            name,
            of: "org.freedesktop.resolve1.Manager",
            Self.service,
            at: "/org/freedesktop/resolve1",
            within: Self.patience,
            read
        )
    }
}
