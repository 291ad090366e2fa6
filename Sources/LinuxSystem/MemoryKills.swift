/// How many processes of a memory control group the kernel has killed for lack of memory.
///
/// A process killed so has got SIGKILL, as from anybody; this tells the two apart. Counts whether the group's limit or the
/// machine's memory was exhausted.
package struct MemoryKills: Sendable {
    /// The group's file with the count.
    private let path: String
    private let start: UInt64

    /// Begins to count in the group that a process is in now.
    ///
    /// - Parameter folder: where the control groups are mounted.
    /// - Returns: nil where the process is gone, or the kernel or the mount has no such group.
    package init?(ofProcess pid: Int32, folder: String = "/sys/fs/cgroup") {
        guard let text = Self.text("/proc/\(pid)/cgroup") else { return nil }
        self.init(groups: text, folder: folder)
    }

    /// - Parameter groups: as in `/proc/<pid>/cgroup`.
    init?(groups: String, folder: String) {
        for path in Self.candidates(groups, folder) {
            guard let count = Self.count(path) else { continue }
            self.path = path
            start = count
            return
        }
        return nil
    }

    /// Those since the beginning.
    package var count: UInt64 {
        guard let now = Self.count(path), now > start else { return 0 }
        return now - start
    }

    /// Where the count may stand: in the group itself, or in one above it where memory isn't controlled that far down.
    private static func candidates(_ groups: String, _ folder: String) -> [String] {
        for line in groups.split(separator: "\n") {
            // hierarchy:controllers:path (cgroups(7)).
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[1].split(separator: ",").contains("memory") {
                return ancestors(fields[2]).map { "\(folder)/memory\($0)/memory.oom_control" }
            }
        }
        for line in groups.split(separator: "\n") where line.hasPrefix("0::") {
            return ancestors(line.dropFirst(3)).map { "\(folder)\($0)/memory.events" }
        }
        return []
    }

    /// A group and those above it, the nearest first, without the root.
    private static func ancestors(_ group: Substring) -> [String] {
        let parts = group.split(separator: "/")
        return parts.indices.reversed().map { "/" + parts[...$0].joined(separator: "/") }
    }

    private static func count(_ path: String) -> UInt64? {
        guard let line = text(path)?.split(separator: "\n").first(where: { $0.hasPrefix("oom_kill ") }) else {
            return nil
        }
        return UInt64(line.dropFirst("oom_kill ".count))
    }

    private static func text(_ path: String) -> String? {
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: 64 << 10) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
