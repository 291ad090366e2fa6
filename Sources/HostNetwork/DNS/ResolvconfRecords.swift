import LinuxSystem

/// What a resolvconf keeps of each interface: Debian's, and openresolv.
enum ResolvconfRecords {
    private static let folders = ["/run/resolvconf/interface", "/run/resolvconf/interfaces", "/run/resolvconf/keys"]

    /// The servers of all interfaces but the tunnels'; nil where there is none.
    static func underlay(without tunnels: Set<String>) -> UnderlayResolvers? {
        var all = ResolvConf()
        for folder in folders {
            for name in (try? FileSystem.names(inFolder: folder))?.sorted() ?? [] where !name.hasPrefix("tun.") {
                guard let bytes = try? FileSystem.contents(ofFile: "\(folder)/\(name)", limit: 64 << 10) else {
                    continue
                }
                let lines = ResolvConf(String(decoding: bytes, as: UTF8.self))
                all.servers += lines.servers
                all.searchDomains += lines.searchDomains
            }
        }
        return UnderlayResolvers(all, without: tunnels)
    }
}
