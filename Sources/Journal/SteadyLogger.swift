package import NetworkTypes
import Synchronization

/// A logger for failures that go on: each topic at most once a minute, with the number of those merged.
package final class SteadyLogger: Sendable {
    private let logger: Logger
    private let filter: Mutex<RepeatFilter>

    package init(_ logger: Logger, filter: RepeatFilter = RepeatFilter()) {
        self.logger = logger
        self.filter = Mutex(filter)
    }

    /// Logs, or merges with what was said of the topic less than a minute ago.
    package func log(
        _ level: LogLevel,
        topic: @autoclosure () -> String,
        at now: Instant,
        _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> [LogField] = []
    ) {
        guard logger.output.takes(level) else { return }
        switch filter.withLock({ $0.admit(topic(), at: now) }) {
        case .merge: return
        case .say(repeated: 0): logger.log(level, message(), fields())
        case .say(let repeated): logger.log(level, "\(message()) (said \(repeated) more times since)", fields())
        }
    }

    /// Forgets a matter that is over, so that the next such message is news.
    package func end(topic: String) { filter.withLock { _ = $0.end(topic) } }
}
