import LinuxSystem

/// What sysfs tells of links (/sys/class/net), for the network namespace that it was mounted in.
struct LinkFolder: Sendable {
    private let path: String
    /// A bridge over a bond over a VLAN, and some more.
    private static let depth = 4

    init(path: String = "/sys/class/net") { self.path = path }

    /// Enters what is known of a link into its facts.
    func fill(_ facts: inout LinkKind.Facts, of name: String) { fill(&facts, of: name, depth: Self.depth) }

    private func fill(_ facts: inout LinkKind.Facts, of name: String, depth: Int) {
        let folder = "\(path)/\(name)"
        guard let names = try? FileSystem.names(inFolder: folder) else { return }
        facts.hasDevice = names.contains("device")
        facts.isWireless = names.contains("wireless") || names.contains("phy80211")
        if let uevent = try? FileSystem.contents(ofFile: "\(folder)/uevent", limit: 4096) {
            facts.deviceType = String(decoding: uevent, as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("DEVTYPE=") }.map { String($0.dropFirst(8)) }
        }
        guard depth > 0 else { return }
        facts.lower = names.filter { $0.hasPrefix("lower_") }.sorted().map { entry in
            let lower = String(entry.dropFirst(6))
            // What of a lower one only rtnetlink tells, its driver, decides nothing where there is hardware below.
            var below = LinkKind.Facts()
            fill(&below, of: lower, depth: depth - 1)
            return LinkKind(below)
        }
    }
}
