/// How much an entry matters, from most to least.
package enum LogLevel: String, CaseIterable, Comparable, Sendable {
    /// Something stops.
    case error
    /// We go on, and the text says how.
    case warning
    /// What an operator cares for: connected, lost.
    case notice
    /// Lifecycle.
    case info
    /// Decisions.
    case debug

    /// The number in syslog(3) and in the journal's PRIORITY field.
    package var priority: Int {
        switch self {
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug: 7
        }
    }

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.priority < b.priority }
}
