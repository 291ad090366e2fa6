/// What a server's clients can take of it.
///
/// Every client may be hostile; none can take another user's share.
package struct ServerLimits: Sendable {
    /// Open connections, of all users.
    package var connections = 4096
    package var connectionsPerUser = 2048
    /// The longest request.
    package var messageBytes = 4 << 20
    /// Read and not yet taken as a message, of all connections of a user.
    package var inputBytesPerUser = 64 << 20
    /// Waiting for a client to read; beyond it the client is disconnected.
    package var outputBytes = 8 << 20
    /// The same for all connections of a user.
    package var outputBytesPerUser = 64 << 20
    /// While more than this waits to be read, no further call of the connection is begun.
    package var pauseAtOutputBytes = 256 << 10
    /// While a call is being answered, at most about this much of those behind it is read.
    package var pipelinedBytes = 64 << 10

    package init() {}
}

/// What each user has taken.
struct UserQuota {
    private struct Share {
        var connections = 0
        var input = 0
        var output = 0
    }

    private let limits: ServerLimits
    private var shares: [UInt32: Share] = [:]

    init(_ limits: ServerLimits) { self.limits = limits }

    /// Counts a connection; false, and not counted, if that would be one too many.
    mutating func admit(_ user: UInt32) -> Bool {
        guard shares[user, default: Share()].connections < limits.connectionsPerUser else { return false }
        shares[user, default: Share()].connections += 1
        return true
    }

    mutating func leave(_ user: UInt32) {
        shares[user]?.connections -= 1
        if shares[user]?.connections == 0 { shares[user] = nil }
    }

    /// False if the user now has more than its share.
    mutating func changeInput(_ user: UInt32, by change: Int) -> Bool {
        shares[user]?.input += change
        return shares[user].map { $0.input <= limits.inputBytesPerUser } ?? true
    }

    /// False if the user now has more than its share.
    mutating func changeOutput(_ user: UInt32, by change: Int) -> Bool {
        shares[user]?.output += change
        return shares[user].map { $0.output <= limits.outputBytesPerUser } ?? true
    }
}
