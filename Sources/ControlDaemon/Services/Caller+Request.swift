import Glibc
import LinuxSystem

extension Caller {
    /// Who is at the other end of a connection.
    init(_ credentials: PeerCredentials) {
        let group = credentials.user == 0 ? nil : Self.identifier(ofGroup: Permission.group)
        self.init(
            user: credentials.user,
            isInGroup: group.map { credentials.isMember(of: $0) } ?? false,
            process: credentials.process
        )
    }

    /// The number of a group; nil where the machine has none of this name.
    private static func identifier(ofGroup name: String) -> UInt32? {
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var entry = unsafe group()
        var found: UnsafeMutablePointer<group>?
        guard unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe entry.gr_gid
    }
}
