/// A fact that goes with an entry, to be searched for: `journalctl TUNNEL_ID=…`.
package struct LogField: Equatable, Sendable {
    /// Capitals, digits and underscores, not beginning with an underscore; at most 64 (systemd.journal-fields(7)).
    package let name: String
    package let value: String

    package init(_ name: StaticString, _ value: String) {
        self.name = "\(name)"
        self.value = value
    }

    /// The identifier of a configuration.
    package static func tunnelID(_ identifier: String) -> LogField { LogField("TUNNEL_ID", identifier) }
    /// The name that a configuration has at the moment.
    package static func tunnelName(_ name: String) -> LogField { LogField("TUNNEL_NAME", name) }
}

package struct LogEntry: Equatable, Sendable {
    package let level: LogLevel
    package let message: String
    package let fields: [LogField]

    package init(level: LogLevel, message: String, fields: [LogField]) {
        self.level = level
        self.message = message
        self.fields = fields
    }
}

/// Where entries go.
package protocol LogSink: Sendable {
    /// Writes an entry without waiting; false if it was lost, because whoever reads doesn't keep up.
    func write(_ entry: LogEntry) -> Bool
}
