import Glibc

/// The machine's groups (getgrnam_r(3)).
package enum GroupDatabase {
    /// More than the entry of any group takes: a million members.
    private static let longestEntry = 64 << 20

    /// The number of a group; nil where the machine has none of this name.
    ///
    /// - Parameter guess: bytes that an entry is first given room for; one of a group with many members takes more.
    package static func identifier(of name: String, guess: Int = 16 << 10) -> UInt32? {
        var size = guess
        while size <= longestEntry {
            var buffer = [CChar](repeating: 0, count: size)
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            let code = unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found)
            if code == EINTR { continue }
            guard code == ERANGE else { return unsafe code == 0 && found != nil ? entry.gr_gid : nil }
            size *= 4
        }
        return nil
    }
}
