import Synchronization
import Testing
@testable import Journal

@Suite struct `Logger and its output` {
    @Test(arguments: LogLevel.allCases) func `entries down to the chosen level are written`(level: LogLevel) {
        let sink = RecordingSink()
        let logger = Logger(LogOutput(sink, level: level))
        for one in LogLevel.allCases { logger.log(one, one.rawValue) }
        #expect(sink.entries.map(\.level) == LogLevel.allCases.filter { $0 <= level })
    }

    @Test func `a level that is switched off forms neither message nor fields`() {
        let logger = Logger(LogOutput(RecordingSink(), level: .info))
        let formed = Mutex(0)
        func text() -> String {
            formed.withLock { $0 += 1 }
            return "text"
        }
        logger.debug(text(), [.tunnelName(text())])
        #expect(formed.withLock { $0 } == 0)
        logger.output.setLevel(.debug)
        logger.debug(text(), [.tunnelName(text())])
        #expect(formed.withLock { $0 } == 2)
    }

    @Test func `a logger's fields stand in each of its entries, before the entry's own`() {
        let sink = RecordingSink()
        let logger = Logger(LogOutput(sink)).with(.tunnelID("1234"))
        logger.notice("connected", [LogField("PEER", "abc")])
        #expect(sink.entries.map(\.fields) == [[.tunnelID("1234"), LogField("PEER", "abc")]])
    }

    @Test func `lost entries are counted where they are missing`() {
        let sink = RecordingSink()
        let logger = Logger(LogOutput(sink))
        logger.error("one")
        sink.takes.withLock { $0 = false }
        logger.error("two")
        logger.error("three")
        sink.takes.withLock { $0 = true }
        logger.error("four")
        #expect(
            sink.entries.map(\.message) == [
                "one", "2 entries are missing here: the log's reader did not keep up.", "four",
            ]
        )
    }
}

final class RecordingSink: LogSink {
    let takes = Mutex(true)
    private let taken = Mutex<[LogEntry]>([])

    var entries: [LogEntry] { taken.withLock { $0 } }

    func write(_ entry: LogEntry) -> Bool {
        guard takes.withLock({ $0 }) else { return false }
        taken.withLock { $0.append(entry) }
        return true
    }
}
