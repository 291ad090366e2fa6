import NetworkTypes

/// Whether a tunnel's name servers are in force, and whether programs ask them.
package struct DNSReport: Hashable, Sendable {
    package let backend: DNSBackend
    package var isEffective = true
    /// Why not, and what deserves a look; in sentences.
    package var notes: [String] = []

    init(_ backend: DNSBackend) { self.backend = backend }

    mutating func fail(_ reason: String) {
        isEffective = false
        notes.append("DNS not effective: \(reason)")
    }
}

/// Whether programs ask whom they should, by what they find at /etc/resolv.conf.
enum DNSEffect {
    /// Where systemd-resolved keeps the file that leads programs to it (systemd-resolved.service(8)), and the other one.
    private static let stubFiles = ["/run/systemd/resolve/stub-resolv.conf", "/usr/lib/systemd/resolv.conf"]
    private static let uplinkFile = "/run/systemd/resolve/resolv.conf"

    /// Why programs don't ask systemd-resolved; nil where they do.
    static func obstacleToResolved(_ content: FileContent, _ lines: ResolvConf?, path: String) -> String? {
        let remedy = "ln -sf \(stubFiles[0]) \(path)"
        switch content {
        case .missing:
            return
                "there is no \(path), so programs don't ask systemd-resolved, which alone knows the tunnel's servers. "
                + "Make it: \(remedy)."
        case .link(let target):
            if lines?.isStub == true { return nil }
            if target.hasSuffix(uplinkFile) {
                return
                    "\(path) leads to \(target), with which programs ask the servers of all links directly, whatever the "
                    + "name. Lead it to systemd-resolved: \(remedy)."
            }
            guard let lines else {
                return "\(path) leads to \(target), which can't be read. Lead it to systemd-resolved: \(remedy)."
            }
            return
                "\(path) leads to \(target), with which programs ask \(text(lines)) and not systemd-resolved. Lead it "
                + "there: \(remedy)."
        case .file:
            if lines?.isStub == true { return nil }
            return "\(path) is a plain file, with which programs ask \(text(lines ?? ResolvConf())) and not "
                + "systemd-resolved. Lead it there: \(remedy)."
        }
    }

    /// Why programs don't ask a tunnel's servers; nil where they do, or ask somebody on this machine who may.
    static func obstacle(to link: LinkDNS, _ lines: ResolvConf?, path: String) -> String? {
        guard let lines else { return "there is no \(path), so programs don't know the tunnel's servers." }
        let used = lines.servers.prefix(ResolvConfState.serverLimit)
        let wanted = link.servers.map(\.description)
        guard !wanted.isEmpty, let first = used.first else { return nil }
        if wanted.contains(first) || first.hasPrefix("127.") || first == "::1" { return nil }
        if used.contains(where: wanted.contains) {
            return "\(path) names \(first) ahead of the tunnel's servers."
        }
        return "\(path) names \(text(lines)) and none of the tunnel's servers."
    }

    private static func text(_ lines: ResolvConf) -> String {
        lines.servers.isEmpty ? "127.0.0.1, for want of another server," : lines.servers.joined(separator: ", ")
    }
}
