import Glibc
import LinuxSystem

/// A real resolvconf: Debian's, or openresolv.
///
/// What systemd-resolved brings along under that name takes only part of the arguments, and resolved is asked directly.
struct ResolvconfProgram: Sendable {
    static let standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    private static let milliseconds: Int32 = 5_000

    let path: String

    /// Looks for it; nil where there is none.
    ///
    /// - Parameter search: folders, with colons between.
    static func find(in search: String) -> ResolvconfProgram? {
        for folder in search.split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/resolvconf"
            guard unsafe access(path, X_OK) == 0 else { continue }
            guard let real = unsafe realpath(path, nil) else { continue }
            defer { unsafe free(real) }
            let name = unsafe String(cString: real).split(separator: "/").last
            if name != "resolvectl" { return ResolvconfProgram(path: path) }
        }
        return nil
    }

    /// Debian's order of interfaces, and openresolv's, have those of tunnels first by such a name.
    static func entry(_ interface: String) -> String { "tun.\(interface)" }

    /// Gives it a tunnel's servers; blocks for up to five seconds.
    func add(_ link: LinkDNS, _ interface: String) throws(ProgramRun.Failure) {
        var lines = link.servers.map { "nameserver \($0)" }
        if !link.searchDomains.isEmpty { lines.append("search " + link.searchDomains.joined(separator: " ")) }
        try ProgramRun.run(
            path,
            arguments(link, interface),
            input: lines.joined(separator: "\n") + "\n",
            milliseconds: Self.milliseconds
        )
    }

    private func arguments(_ link: LinkDNS, _ interface: String) -> [String] {
        let plain = ["-a", Self.entry(interface)]
        // Only openresolv knows exclusive entries; it tells what it is, which Debian's refuses.
        let isOpenresolv = (try? ProgramRun.run(path, ["--version"], milliseconds: Self.milliseconds)) != nil
        return isOpenresolv && link.takesAllNames ? plain + ["-m", "0", "-x"] : plain
    }

    /// Takes a tunnel's servers out; blocks for up to five seconds.
    func remove(_ interface: String) throws(ProgramRun.Failure) {
        try ProgramRun.run(path, ["-d", Self.entry(interface)], milliseconds: Self.milliseconds)
    }
}
