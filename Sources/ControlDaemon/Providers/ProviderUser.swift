import HostNetwork
import LinuxSystem

/// The user ids that providers run as with the spawn launcher: one per tunnel, of a range that no account has.
package enum ProviderUser {
    /// Above everything that Debian, systemd and container managers hand out (systemd's UIDS-GIDS.md).
    package static let range = Ownership.providerUsers
    /// For a provider's program that only prints something.
    package static let inquiry: UInt32 = 2_000_065_536

    /// The first id, from the place in the range that the identifier's hash gives onward, that no process has.
    ///
    /// The same tunnel gets the same id as a rule, and two tunneld on a machine don't share one.
    /// - Returns: nil where all are taken.
    package static func free(for identifier: String, taken: Set<UInt32>) -> UInt32? {
        let count = UInt32(range.count)
        let start = hash(identifier) % count
        for step in 0..<count {
            let candidate = range.lowerBound + (start + step) % count
            if !taken.contains(candidate) { return candidate }
        }
        return nil
    }

    /// The users of all processes that there are now.
    ///
    /// A provider that has ended and waits to be collected, by whoever
    /// inherited it, has none.
    package static func usersOfProcesses() -> Set<UInt32> {
        var users: Set<UInt32> = []
        for name in (try? FileSystem.names(inFolder: "/proc")) ?? [] {
            guard let pid = Int32(name) else { continue }
            // An undumpable process's folder belongs to root, so the users stand in its status only.
            guard let bytes = try? FileSystem.contents(ofFile: "/proc/\(name)/status", limit: 64 << 10),
                let privileges = ThreadPrivileges(parsing: String(decoding: bytes, as: UTF8.self))
            else { continue }
            let isProvider = privileges.users.contains { range.contains($0) }
            if isProvider, (try? ProcessDescriptor(pid: pid))?.hasEnded != false { continue }
            users.formUnion(privileges.users)
        }
        return users
    }

    /// FNV-1a: the same in every process, unlike `Hasher`.
    private static func hash(_ text: String) -> UInt32 {
        text.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
}
