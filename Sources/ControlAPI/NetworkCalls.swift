/// Replies of `org.tunneld.Network`.
package enum NetworkCalls {
    package static let interface = "org.tunneld.Network"

    package struct SnapshotReply: Codable, Sendable {
        package var network: NetworkView
        package init(network: NetworkView) { self.network = network }
    }

    /// What was taken back, and what couldn't be, in words.
    package struct RepairReply: Codable, Equatable, Sendable {
        package var removed: [String]
        package var failed: [String]

        package init(removed: [String], failed: [String]) {
            self.removed = removed
            self.failed = failed
        }
    }

    package struct WatchReply: Codable, Equatable, Sendable {
        package var network: NetworkView
        /// What is different since the last reply; none in the first.
        package var changes: [NetworkChangeView]

        package init(network: NetworkView, changes: [NetworkChangeView]) {
            self.network = network
            self.changes = changes
        }
    }
}

/// One difference between the network before and now.
package struct NetworkChangeView: Codable, Equatable, Sendable {
    /// "linkUp" and the like; more may come with later versions.
    package var kind: String
    /// Null for what concerns the whole machine.
    package var interface: String?
    package var value: String?

    package init(kind: String, interface: String?, value: String?) {
        self.kind = kind
        self.interface = interface
        self.value = value
    }

    private enum Keys: String, CodingKey { case kind, interface, value }

    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(kind, forKey: .kind)
        try c.encode(interface, forKey: .interface)
        try c.encode(value, forKey: .value)
    }
}
