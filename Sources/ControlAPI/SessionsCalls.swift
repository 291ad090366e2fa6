/// Parameters and replies of `org.tunneld.Sessions`.
package enum SessionsCalls {
    package static let interface = "org.tunneld.Sessions"

    package struct StartParameters: Codable, Sendable {
        package var identifier: String
        /// The generation that the client loaded; left out: whatever is stored.
        package var generation: Int?
        package var options: [String: JSONValue]?
        package init(identifier: String, generation: Int?, options: [String: JSONValue]? = nil) {
            self.identifier = identifier
            self.generation = generation
            self.options = options
        }
    }

    package struct StartReply: Codable, Sendable {
        package var session: String
        package var alreadyRunning: Bool
        package init(session: String, alreadyRunning: Bool) {
            self.session = session
            self.alreadyRunning = alreadyRunning
        }
    }

    package struct StopParameters: Codable, Sendable {
        package var identifier: String
        /// Ends this session only; left out: the present one.
        package var session: String?
        package init(identifier: String, session: String? = nil) {
            self.identifier = identifier
            self.session = session
        }
    }

    /// `Status`, `Monitor`: one configuration, or with null all that the caller may see.
    package struct StatusParameters: Codable, Sendable {
        package var identifier: String?
        package init(identifier: String? = nil) { self.identifier = identifier }
    }

    package struct StatusReply: Codable, Sendable {
        package var sessions: [SessionView]
        package init(sessions: [SessionView]) { self.sessions = sessions }
    }

    /// `List`: a line for each configuration, some of them a reply.
    package struct ListReply: Codable, Sendable {
        package var entries: [Entry]
        package init(entries: [Entry]) { self.entries = entries }
    }

    package struct Entry: Codable, Equatable, Sendable {
        package var identifier: String
        package var name: String
        package var owner: Configuration.Owner
        package var enabled: Bool
        package var status: TunnelStatus
        package init(
            identifier: String,
            name: String,
            owner: Configuration.Owner,
            enabled: Bool,
            status: TunnelStatus
        ) {
            self.identifier = identifier
            self.name = name
            self.owner = owner
            self.enabled = enabled
            self.status = status
        }
    }

    package struct StatisticsReply: Codable, Sendable {
        package var identifier: String
        package var readAt: Timestamp
        package var counters: CountersView?
        package var peers: [PeerView]
        package init(identifier: String, readAt: Timestamp, counters: CountersView?, peers: [PeerView]) {
            self.identifier = identifier
            self.readAt = readAt
            self.counters = counters
            self.peers = peers
        }
    }

    /// One event of `Monitor`; the first one or ones say the present state.
    package struct Event: Codable, Equatable, Sendable {
        /// Counts the events of this tunneld; an event never comes twice or out of order.
        package var sequence: Int
        package var time: Timestamp
        package var kind: Kind
        /// Null only for `ready` and `resynchronise`.
        package var identifier: String?
        package var name: String?
        package var status: TunnelStatus?
        package var reason: String?
        package var error: ControlError?
        package var snapshot: SessionView?
        /// `resynchronise`: how many events were lost.
        package var lost: Int?

        package enum Kind: String, Codable, Sendable {
            /// The present state, at the start of a monitor.
            case present
            /// The present state is told whole; what follows is news.
            case ready
            /// The monitor was too slow, and events were lost; `present` for each tunnel and `ready` follow, as at the start,
            /// and what isn't among them is no more.
            case resynchronise
            /// The status, or how far a start has come, changed.
            case status
            /// A configuration was saved, changed or removed.
            case configuration
        }

        package init(
            sequence: Int,
            time: Timestamp,
            kind: Kind,
            identifier: String?,
            name: String?,
            status: TunnelStatus?,
            reason: String?,
            error: ControlError?,
            snapshot: SessionView?
        ) {
            self.sequence = sequence
            self.time = time
            self.kind = kind
            self.identifier = identifier
            self.name = name
            self.status = status
            self.reason = reason
            self.error = error
            self.snapshot = snapshot
        }

        /// An event of no tunnel.
        package init(_ kind: Kind, lost: Int? = nil, sequence: Int, at time: Timestamp) {
            self.init(
                sequence: sequence,
                time: time,
                kind: kind,
                identifier: nil,
                name: nil,
                status: nil,
                reason: nil,
                error: nil,
                snapshot: nil
            )
            self.lost = lost
        }
    }
}

extension SessionsCalls.Event {
    private enum CodingKeys: String, CodingKey {
        case sequence, time, kind, identifier, name, status, reason, error, snapshot, lost
    }

    /// Every key stands in the document, `null` where there is nothing to say.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(sequence, forKey: .sequence)
        try c.encode(time, forKey: .time)
        try c.encode(kind, forKey: .kind)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(name, forKey: .name)
        try c.encode(status, forKey: .status)
        try c.encode(reason, forKey: .reason)
        try c.encode(error, forKey: .error)
        try c.encode(snapshot, forKey: .snapshot)
        try c.encode(lost, forKey: .lost)
    }
}
