import LinuxSystem

extension Caller {
    /// Who is at the other end of a connection.
    init(_ credentials: PeerCredentials) {
        let group = credentials.user == 0 ? nil : GroupDatabase.identifier(of: Permission.group)
        self.init(
            user: credentials.user,
            isInGroup: group.map { credentials.isMember(of: $0) } ?? false,
            process: credentials.process
        )
    }
}
